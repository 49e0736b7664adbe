"""A hub of Hugging Face's with one repository, on this machine."""

import hashlib
import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any
from urllib.parse import unquote, urlsplit

COMMIT = "c" * 40
LARGE = ".safetensors"


@dataclass(slots=True)
class Hub:
    """Serves the files of `folder` as `owner/name`.

    `claims` are hashes to tell instead of the true ones; `cut_after` ends the next answer with a
    large file after so many bytes; `served` are ranges that were asked for, by file.
    """

    folder: Path
    claims: dict[str, str] = field(default_factory=dict)
    cut_after: int | None = None
    served: list[tuple[str, str]] = field(default_factory=list)
    endpoint: str = ""

    def files(self) -> list[dict[str, object]]:
        """What the API says of every file."""
        return [
            self._described(str(path.relative_to(self.folder)), path.read_bytes())
            for path in sorted(self.folder.rglob("*"))
            if path.is_file()
        ]

    def _described(self, name: str, content: bytes) -> dict[str, object]:
        git = hashlib.sha1(b"blob %d\0" % len(content) + content, usedforsecurity=False)
        described: dict[str, object] = {
            "rfilename": name,
            "path": name,
            "type": "file",
            "size": len(content),
            "blobId": self.claims.get(name, git.hexdigest()),
            "oid": git.hexdigest(),
        }
        if name.endswith(LARGE):
            digest = self.claims.get(name, hashlib.sha256(content).hexdigest())
            described["lfs"] = {
                "sha256": digest,
                "oid": digest,
                "size": len(content),
                "pointerSize": 130,
            }
        return described


class HubHandler(BaseHTTPRequestHandler):
    """Answers for `hub`."""

    def __init__(self, hub: Hub, *args: Any) -> None:
        self._hub = hub
        super().__init__(*args)

    def log_message(self, *args: object) -> None:
        """Say nothing."""

    def do_HEAD(self) -> None:
        self._answer(body=False)

    def do_GET(self) -> None:
        self._answer(body=True)

    def _answer(self, *, body: bool) -> None:
        path = unquote(urlsplit(self.path).path)
        if path.startswith("/api/models/owner/name"):
            self._api(path)
        elif path.startswith("/owner/name/resolve/"):
            self._file(path.removeprefix("/owner/name/resolve/").partition("/")[2], body)
        else:
            self._send(404, b'{"error": "Repository not found"}', {})

    def _api(self, path: str) -> None:
        files: object = self._hub.files()
        if "/tree/" not in path:
            files = {"id": "owner/name", "sha": COMMIT, "siblings": files}
        self._send(200, json.dumps(files).encode(), {"Content-Type": "application/json"})

    def _file(self, name: str, body: bool) -> None:
        content = (self._hub.folder / name).read_bytes()
        etag = hashlib.sha256(content).hexdigest()
        headers = {"X-Repo-Commit": COMMIT, "ETag": f'"{etag}"', "Accept-Ranges": "bytes"}
        wanted = self.headers.get("Range", "")
        if not body:
            self._send(200, content, headers, body=False)
            return
        self._hub.served.append((name, wanted))
        start = int(wanted.removeprefix("bytes=").partition("-")[0]) if wanted else 0
        if wanted:
            headers["Content-Range"] = f"bytes {start}-{len(content) - 1}/{len(content)}"
        self._send(206 if wanted else 200, content[start:], headers, name.endswith(LARGE))

    def _send(
        self,
        status: int,
        content: bytes,
        headers: dict[str, str],
        may_cut: bool = False,
        *,
        body: bool = True,
    ) -> None:
        self.send_response(status)
        for name, value in {**headers, "Content-Length": str(len(content))}.items():
            self.send_header(name, value)
        self.end_headers()
        if may_cut and self._hub.cut_after is not None:
            content, self._hub.cut_after = content[: self._hub.cut_after], None
            self.close_connection = True
        if body:
            self.wfile.write(content)


@contextmanager
def hub_serve(hub: Hub) -> Iterator[Hub]:
    """Serve until the block ends; `hub.endpoint` is the address."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(HubHandler, hub))
    server.daemon_threads = True
    hub.endpoint = f"http://127.0.0.1:{server.server_address[1]}"
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield hub
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
