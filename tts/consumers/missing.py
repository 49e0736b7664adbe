"""WebSockets at an address where there is none."""

import json
from typing import Any

from coordination.clipping import clipped
from tts.consumers.credentials import SocketCredentials
from tts.consumers.protocol import CloseCode, error_encode
from tts.denial import DENIAL
from tts.speech.errors import PathNotFound
from tts.speech.problem import problem_of
from tts.speech.service import request_id_new


async def socket_missing(scope: Any, receive: Any, send: Any) -> None:
    """Answer 404 with the error envelope; by a server that cannot, accept, say so and close."""
    await receive()
    problem = problem_of(PathNotFound(f"There is no WebSocket {clipped(scope['path'])}."))
    if DENIAL in (scope.get("extensions") or {}):
        body = json.dumps(problem.envelope()).encode()
        headers = [
            (b"content-type", b"application/json"),
            (b"content-length", str(len(body)).encode()),
            (b"x-request-id", request_id_new().encode()),
        ]
        start = {"type": f"{DENIAL}.start", "status": problem.status, "headers": headers}
        await send(start)
        await send({"type": f"{DENIAL}.body", "body": body, "more_body": False})
        return
    offered = SocketCredentials.read(scope)
    await send({"type": "websocket.accept", "subprotocol": offered.subprotocol})
    error = error_encode(problem, fatal=True)
    await send({"type": "websocket.send", "text": error})
    await send({"type": "websocket.close", "code": int(CloseCode.NOT_FOUND)})
