"""The bytes of one HTTP/1.1 response, decoded as they arrive."""

from enum import StrEnum

from voicehost.bench.errors import RequestFailed

_HEAD_END = b"\r\n\r\n"
_LINE_END = b"\r\n"


class _State(StrEnum):
    HEAD = "head"
    SIZE = "size"
    CHUNK = "chunk"
    CHUNK_END = "chunk end"
    TRAILER = "trailer"
    LENGTH = "length"
    DONE = "done"


class ResponseDecoder:
    """Takes bytes and gives those of the body; knows `chunked` and Content-Length.

    `status` is 0 and `headers` (names in lower case) are empty until the head
    is there.
    """

    def __init__(self) -> None:
        self.status = 0
        self.headers: dict[str, str] = {}
        self._state = _State.HEAD
        self._held = b""
        self._left = 0

    @property
    def complete(self) -> bool:
        """Whether the whole response has been seen."""
        return self._state is _State.DONE

    def feed(self, data: bytes) -> list[bytes]:
        """Take what arrived; returns pieces of the body. Raises RequestFailed for other bytes."""
        pieces: list[bytes] = []
        self._held = self._held + data if self._held else data
        while self._held and self._state is not _State.DONE and self._advance(pieces):
            pass
        return pieces

    def _advance(self, pieces: list[bytes]) -> bool:
        """One step; False when more bytes are needed."""
        match self._state:
            case _State.HEAD:
                return self._head()
            case _State.CHUNK | _State.LENGTH:
                return self._body(pieces)
            case _:
                return self._line()

    def _head(self) -> bool:
        head, found, rest = self._held.partition(_HEAD_END)
        if not found:
            return False
        status, *lines = head.decode("latin-1").split("\r\n")
        fields = [line.partition(":") for line in lines]
        try:
            self.status = int(status.split(" ")[1])
        except (IndexError, ValueError):
            raise RequestFailed(f"not an HTTP response: {status[:80]!r}") from None
        self.headers = {name.strip().lower(): value.strip() for name, _, value in fields}
        self._held = rest
        if self.headers.get("transfer-encoding", "").lower() == "chunked":
            self._state = _State.SIZE
        else:
            self._left = int(self.headers.get("content-length", "0"))
            self._state = _State.LENGTH if self._left else _State.DONE
        return True

    def _body(self, pieces: list[bytes]) -> bool:
        piece, self._held = self._held[: self._left], self._held[self._left :]
        self._left -= len(piece)
        pieces.append(piece)
        if self._left == 0:
            chunked = self._state is _State.CHUNK
            self._state = _State.CHUNK_END if chunked else _State.DONE
        return bool(self._held)

    def _line(self) -> bool:
        line, found, rest = self._held.partition(_LINE_END)
        if not found:
            return False
        self._held = rest
        if self._state is _State.CHUNK_END:
            self._state = _State.SIZE
        elif self._state is _State.TRAILER:
            self._state = _State.TRAILER if line else _State.DONE
        else:
            self._left = int(line.split(b";")[0], 16)
            self._state = _State.CHUNK if self._left else _State.TRAILER
        return True
