"""Errors of a request for speech.

SpeechError
├── InvalidBody           the body is not a JSON object in UTF-8
├── MissingParameter      a required parameter is absent
├── InvalidParameter      a parameter has a wrong type or is out of range
├── InvalidUnicode        a parameter holds a lone surrogate
├── LanguageNotSpoken     neither the voice nor its companion speaks a language of the text
├── BodyTooLarge          the body is longer than allowed
├── UnsupportedMedia      the body's Content-Type or Content-Encoding is not taken
├── MethodNotAllowed      the HTTP method has no meaning here
├── PathNotFound          there is nothing at this address
├── UnknownHost           the Host header names a host that is not served here
├── BadRequest            the request cannot be read
├── NoAudio               the engine finished without a sample
├── ListenerStalled       the listener took nothing for too long
├── ServerStopping        this process takes nothing new
├── TooManyContexts       a socket holds as many contexts as it may
├── ContextEnded          text came for a context that was ended
├── OriginRefused         a page of another origin opens a socket
├── KeyInAddress          a socket's address holds a secret that is no short-lived token
├── UnknownSubprotocol    a socket offers only subprotocols that are not spoken here
└── BufferFull            a context holds as much unspoken text as it may
"""

from collections.abc import Sequence

from coordination.clipping import SHOWN_MAX, clipped


class SpeechError(Exception):
    """Base of all errors here; `status` is the HTTP status, the rest is the error envelope's."""

    status = 400
    kind = "invalid_request_error"
    code: str | None = None

    def __init__(
        self, message: str, *, param: str | None = None, retry_after: float | None = None
    ) -> None:
        super().__init__(message)
        self.message = message
        self.param = param
        self.retry_after = retry_after


class InvalidBody(SpeechError):
    """The body is not a JSON object in UTF-8."""

    code = "invalid_body"


class MissingParameter(SpeechError):
    """A required parameter is absent."""

    code = "missing_required_parameter"

    def __init__(self, param: str) -> None:
        super().__init__(f"Missing required parameter: {param!r}.", param=param)


class InvalidParameter(SpeechError):
    """A parameter has a wrong type or is out of range."""

    code = "invalid_value"


class InvalidUnicode(SpeechError):
    """A parameter, or the name of one (None), holds a lone surrogate, which is no text."""

    code = "invalid_character"

    def __init__(self, param: str | None) -> None:
        where = "A field's name" if param is None else f"Invalid value for {clipped(param)}: it"
        super().__init__(
            f"{where} has a lone surrogate; send valid Unicode text.",
            param=None if param is None else param[:SHOWN_MAX],
        )


class LanguageNotSpoken(SpeechError):
    """Neither the voice nor its companion speaks `language`; `voices` names some that do."""

    code = "language_not_supported"

    def __init__(self, voice: str, language: str, voices: Sequence[str]) -> None:
        able = f" Voices that do: {', '.join(voices)}." if voices else ""
        super().__init__(
            f"The voice {clipped(voice)} does not speak '{language}'.{able}", param="voice"
        )
        self.language = language
        self.voices = tuple(voices)


class BodyTooLarge(SpeechError):
    """The body is longer than allowed."""

    status = 413
    code = "body_too_large"

    def __init__(self, limit: int) -> None:
        super().__init__(f"The body is larger than {limit:,} bytes.")


class UnsupportedMedia(SpeechError):
    """The body's Content-Type or Content-Encoding is not taken."""

    status = 415
    code = "unsupported_media_type"


class MethodNotAllowed(SpeechError):
    """The HTTP method has no meaning here."""

    status = 405
    code = "method_not_allowed"

    def __init__(self, method: str, allowed: Sequence[str]) -> None:
        super().__init__(f"{method[:16]} is not allowed here; use {' or '.join(allowed)}.")
        self.allowed = tuple(allowed)


class PathNotFound(SpeechError):
    """There is nothing at this address."""

    status = 404
    code = "unknown_url"
    kind = "not_found_error"


class UnknownHost(SpeechError):
    """The Host header names a host that is not served here."""

    code = "unknown_host"

    def __init__(self) -> None:
        super().__init__("This Host is not served here; ALLOWED_HOSTS says which are.")


class BadRequest(SpeechError):
    """The request cannot be read."""

    code = "bad_request"

    def __init__(self) -> None:
        super().__init__("The request cannot be served as it stands.")


class NoAudio(SpeechError):
    """The engine finished without a sample: an empty success would hide it."""

    status = 500
    kind = "server_error"
    code = "no_audio"

    def __init__(self) -> None:
        super().__init__("The text produced no audio.")


class ListenerStalled(SpeechError):
    """The listener took nothing for too long; the connection is ended."""

    status = 408
    code = "stream_stalled"

    def __init__(self, seconds: float) -> None:
        super().__init__(f"Nothing was read for {seconds:g} seconds.")


class ServerStopping(SpeechError):
    """This process takes nothing new; another attempt reaches another one."""

    status = 503
    kind = "server_error"
    code = "server_stopping"

    def __init__(self, retry_after: float = 1.0) -> None:
        super().__init__("The server is stopping; try again.", retry_after=retry_after)


class TooManyContexts(SpeechError):
    """A socket holds as many contexts as it may."""

    status = 429
    kind = "rate_limit_error"
    code = "too_many_contexts"

    def __init__(self, limit: int) -> None:
        super().__init__(
            f"At most {limit} contexts may be open; end or cancel one first.", param="context_id"
        )


class ContextEnded(SpeechError):
    """Text came for a context that was ended, `by_client` or by the server."""

    status = 409
    code = "context_ended"

    def __init__(self, context_id: str, *, by_client: bool) -> None:
        self.by_client = by_client
        super().__init__(
            f"The context {context_id!r} has ended; wait for its speech.done.", param="context_id"
        )


class BufferFull(SpeechError):
    """A context holds as much unspoken text as it may."""

    status = 429
    kind = "rate_limit_error"
    code = "buffer_full"

    def __init__(self, limit: int) -> None:
        super().__init__(
            f"A context holds at most {limit:,} characters that are not spoken yet; "
            "this text was not taken.",
            param="text",
        )


class OriginRefused(SpeechError):
    """A page of another origin opens a socket."""

    status = 403
    kind = "permission_error"
    code = "origin_refused"

    def __init__(self) -> None:
        super().__init__("This origin may not connect.")


class KeyInAddress(SpeechError):
    """A socket's address holds a secret that is no short-lived token."""

    status = 401
    kind = "authentication_error"
    code = "key_in_address"

    def __init__(self) -> None:
        super().__init__(
            "Only a short-lived token (POST /v1/tokens) may be in an address. Send an API key in "
            "the Authorization header, or offer the subprotocol tts.key.<key>; revoke one that "
            "was in an address.",
            param="token",
        )


class UnknownSubprotocol(SpeechError):
    """A socket offers only subprotocols that are not spoken here."""

    code = "unsupported_subprotocol"

    def __init__(self, known: str) -> None:
        super().__init__(f"Only the subprotocol {known!r} is spoken here.")
