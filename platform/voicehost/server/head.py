"""What the head of a request has to be, whichever server reads it (RFC 9112).

The servers' parsers differ in what they let pass. What two of them could read
in two ways must not pass either: a proxy in front may be the second.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from voicehost.server.refusal import malformed, options_of_server

_SCHEMES = (b"http://", b"https://")


@dataclass(frozen=True, slots=True)
class Head:
    """A request's head; `version` is e.g. b"1.1", header names are lower-case."""

    method: bytes
    target: bytes
    version: bytes
    headers: Sequence[tuple[bytes, bytes]]

    def values(self, name: bytes) -> list[bytes]:
        """All values of a header."""
        return [value for key, value in self.headers if key == name]


class HeadAnswered(Exception):
    """The server answers a request by itself, and ends the connection after `response`."""

    def __init__(self, response: bytes) -> None:
        super().__init__(response)
        self.response = response


def head_taken(head: Head) -> Head:
    """The head as the application gets it, with a path for its target; raises HeadAnswered."""
    if head.version not in {b"1.0", b"1.1"}:
        raise _refused("The request's version must be HTTP/1.1 or HTTP/1.0")
    _framing_check(head)
    hosts = head.values(b"host")
    if len(hosts) > 1 or (not hosts and head.version == b"1.1"):
        raise _refused(f"A request needs one Host header, and this one has {len(hosts)}")
    if head.target == b"*" and head.method == b"OPTIONS":
        raise HeadAnswered(options_of_server())
    if head.target.startswith(b"/"):
        return head
    return _origin_form(head)


def _framing_check(head: Head) -> None:
    """Refuse a body whose end two readers may see in two places."""
    encodings = head.values(b"transfer-encoding")
    if not encodings:
        return
    if head.values(b"content-length"):
        raise _refused("A request has Transfer-Encoding or Content-Length, never both")
    if head.version == b"1.0" or [value.lower() for value in encodings] != [b"chunked"]:
        raise _refused("Transfer-Encoding may only be 'chunked', once, and in HTTP/1.1")


def _origin_form(head: Head) -> Head:
    """Read an absolute address as its path and host, which goes before the header (3.2.2)."""
    scheme = next((each for each in _SCHEMES if head.target.lower().startswith(each)), None)
    if scheme is None or head.method == b"CONNECT":
        raise _refused("The request's address must begin with '/', or with 'http://' and a host")
    address = head.target[len(scheme) :]
    end = min((at for at in map(address.find, (b"/", b"?", b"#")) if at >= 0), default=len(address))
    host, path = address[:end], address[end:]
    if not host or b"@" in host:
        raise _refused("The request's address must have a host, and no user, behind 'http://'")
    others = [(name, value) for name, value in head.headers if name != b"host"]
    return replace(
        head,
        target=path if path.startswith(b"/") else b"/" + path,
        headers=[(b"host", host), *others],
    )


def _refused(what: str) -> HeadAnswered:
    return HeadAnswered(malformed(what))
