"""The description of `POST /v1/audio/speech`, which a Channels consumer serves.

The consumer sends, grants credit and hears of disconnects itself; a view could
do none of that. Its parameters are the same class, so that the description
cannot differ from what is taken.
"""

from typing import Any

from django.http import HttpRequest
from ninja import Router

from tts.api.auth import KeyAuth
from tts.api.schemas import ErrorEnvelope
from tts.audio.format import AudioFormat
from tts.speech.errors import PathNotFound
from tts.speech.order import SpeechBody

router = Router(tags=["Speech"], auth=KeyAuth())

_EVENTS = (
    'data: {"type":"speech.audio.delta","audio":"<base64>"}\n\n'
    'data: {"type":"speech.audio.done","usage":'
    '{"input_tokens":12,"output_tokens":61,"total_tokens":73}}\n\n'
)
_HEADERS = {
    "Server-Timing": "Milliseconds of waiting (queue) and until the first audio (ttfa).",
    "X-Request-Id": "The id under which logs know this request.",
    "X-Quality-Tier": "The tier that served it.",
    "X-Model-Version": "The version that spoke.",
}


def _binary() -> dict[str, Any]:
    return {"schema": {"type": "string", "format": "binary"}}


def _audio_response() -> dict[str, Any]:
    content = {item.content_type().partition(";")[0]: _binary() for item in AudioFormat}
    content["text/event-stream"] = {"schema": {"type": "string"}, "example": _EVENTS}
    return {
        "description": "Audio as it is made, or server-sent events with stream_format=sse. "
        "input_tokens are code points, output_tokens 20 ms of audio each.",
        "headers": {
            name: {"description": text, "schema": {"type": "string"}}
            for name, text in _HEADERS.items()
        },
        "content": content,
    }


_EXAMPLES = {
    "mp3": {
        "summary": "Mixed English and Chinese as MP3",
        "value": {"model": "kokoro", "voice": "af_heart", "input": "Hello there, 你好。"},
    },
    "pcm": {
        "summary": "Raw PCM as fast as it comes",
        "value": {
            "model": "kokoro", "voice": "af_heart", "input": "Your order has been shipped.",
            "response_format": "pcm", "quality_tier": "realtime",
        },
    },
    "events": {
        "summary": "Server-sent events",
        "value": {
            "model": "kokoro", "voice": "zf_xiaoxiao", "input": "今天天气很好。",
            "stream_format": "sse",
        },
    },
}  # fmt: skip


@router.post(
    "/audio/speech",
    response=dict.fromkeys((400, 401, 403, 404, 413, 415, 429, 500, 503), ErrorEnvelope),
    summary="Speak a text",
    operation_id="create_speech",
    openapi_extra={
        "responses": {200: _audio_response()},
        "requestBody": {"content": {"application/json": {"examples": _EXAMPLES}}},
    },
)
async def speech_create(request: HttpRequest, body: SpeechBody) -> None:
    """Streams speech. Compatible with OpenAI's endpoint; `null` is the same as absent.

    Failures before the first audio are ordinary errors. After it, an event
    stream ends with an `error` event, and an audio stream breaks off.
    """
    raise PathNotFound("Speech is served by the ASGI application; this server runs without it.")
