"""CORS headers by django-cors-headers' own rules, for responses that Django never sees."""

from collections.abc import Sequence

from corsheaders.middleware import CorsMiddleware
from django.http import HttpRequest, HttpResponse

Headers = list[tuple[bytes, bytes]]

_middleware = CorsMiddleware(lambda request: HttpResponse())


def cors_headers(
    method: str, path: str, headers: Sequence[tuple[bytes, bytes]]
) -> tuple[Headers, bool]:
    """The CORS headers of a response to this request, and whether it is a preflight."""
    given = {bytes(name): bytes(value).decode("latin-1") for name, value in headers}
    if b"origin" not in given and method != "OPTIONS":
        return [(b"vary", b"origin")], False
    request = HttpRequest()
    request.method = method
    request.path = request.path_info = path
    request.META = {
        f"HTTP_{name.decode('latin-1').upper().replace('-', '_')}": value
        for name, value in given.items()
        if name == b"origin" or name.startswith(b"access-control-")
    }
    preflight = _middleware.check_preflight(request) is not None
    response = HttpResponse()
    del response["content-type"]
    _middleware.add_response_headers(request, response)
    return [
        (name.lower().encode("latin-1"), value.encode("latin-1"))
        for name, value in response.items()
    ], preflight
