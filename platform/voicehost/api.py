"""The API object: routers, its documentation, and every error as one envelope."""

import structlog
from django.conf import settings
from django.core.exceptions import DisallowedHost, RequestDataTooBig
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.views import defaults
from django.views.decorators.csrf import csrf_exempt
from ninja import NinjaAPI
from ninja.errors import HttpError, ValidationError

from coordination.clipping import SHOWN_MAX, clipped
from tts.api import catalogue, speech, tokens, voices
from tts.api.body import JsonBody
from tts.engine.traces import trace_of
from tts.speech.errors import BadRequest, BodyTooLarge, PathNotFound, SpeechError, UnknownHost
from tts.speech.problem import Problem, kind_of, problem_of
from voicehost.release import release

log = structlog.get_logger(__name__)

api = NinjaAPI(
    title="Voicehost",
    version=release(),
    description="Speech synthesis, compatible with OpenAI's audio API. "
    "Live text goes over the WebSocket `/v1/audio/speech/stream` (subprotocol `tts.v1`). "
    "What a schema cannot say (streaming, the WebSocket's messages, what is charged, voices, "
    "tokens, errors) is in `docs/api.md`, and how to begin in `README.md`, both in Voicehost's "
    "folder.",
    docs_url="/docs",
    openapi_url="/openapi.json",
    urls_namespace="v1",
    parser=JsonBody(),
)
api.add_router("", speech.router)
api.add_router("", catalogue.router)
api.add_router("", voices.router)
api.add_router("", tokens.router)


def problem_response(problem: Problem) -> HttpResponse:
    """A problem as a response."""
    return JsonResponse(problem.envelope(), status=problem.status, headers=problem.headers())


# Keys are no cookies: a wrong address must say so, not speak of a missing CSRF cookie.
@csrf_exempt
def unknown_url(request: HttpRequest) -> HttpResponse:
    """The answer at every address where nothing is, but for the admin's."""
    error = PathNotFound(f"There is no {str(request.method)[:16]} {clipped(request.path)}.")
    return problem_response(problem_of(error))


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:
    """The answer to a request that Django refuses before any view."""
    unknown = isinstance(exception, DisallowedHost)
    if unknown:
        # The request's own line in the log says it; whoever scans a network asks so.
        structlog.contextvars.bind_contextvars(
            refused_host=clipped(request.META.get("HTTP_HOST", ""))
        )
    if is_page(request):
        return defaults.bad_request(request, exception)
    return problem_response(problem_of(UnknownHost() if unknown else BadRequest()))


def server_error(request: HttpRequest) -> HttpResponse:
    """The answer where a view outside of the API failed; Django has logged why."""
    if is_page(request):
        return defaults.server_error(request)
    return problem_response(problem_of(Exception()))


def is_page(request: HttpRequest) -> bool:
    """Whether people read what is at this address: the admin. Elsewhere programs do."""
    return request.path.startswith("/admin/")


@api.exception_handler(Exception)
def _any_error(request: HttpRequest, error: Exception) -> HttpResponse:
    problem = problem_of(error)
    if problem.status == 500:
        log.error("api_failed", path=request.path, trace=trace_of(error))
    return problem_response(problem)


@api.exception_handler(ValidationError)
def _invalid(request: HttpRequest, error: ValidationError) -> HttpResponse:
    first = error.errors[0]
    names = [part for part in first["loc"][1:] if isinstance(part, str)]
    param = names[-1] if names else None
    message = str(first["msg"])
    if param and first["type"] == "extra_forbidden":
        message = f"There is no field {clipped(param)} here."
    elif param:
        message = f"Invalid value for {param!r}: {message}."
    param = param and param[:SHOWN_MAX]
    return problem_response(Problem(400, message, code="invalid_value", param=param))


@api.exception_handler(RequestDataTooBig)
def _too_big(request: HttpRequest, error: RequestDataTooBig) -> HttpResponse:
    return problem_response(problem_of(BodyTooLarge(settings.DATA_UPLOAD_MAX_MEMORY_SIZE)))


@api.exception_handler(HttpError)
def _http(request: HttpRequest, error: HttpError) -> HttpResponse:
    if isinstance(error.__cause__, SpeechError):
        return problem_response(problem_of(error.__cause__))
    return problem_response(
        Problem(error.status_code, error.message, kind=kind_of(error.status_code))
    )
