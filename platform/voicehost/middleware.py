"""Middleware of the project: what is logged of a request, and how /v1/ refuses a method."""

import re
from collections.abc import Awaitable, Callable

from asgiref.sync import iscoroutinefunction
from django.http import HttpRequest, HttpResponseNotAllowed
from django.http.response import HttpResponseBase
from django.utils.decorators import sync_and_async_middleware
from django_structlog.middlewares import RequestMiddleware

from tts.speech.errors import MethodNotAllowed
from tts.speech.problem import problem_of
from voicehost.api import problem_response

Handler = Callable[[HttpRequest], HttpResponseBase | Awaitable[HttpResponseBase]]

_API = re.compile(r"/v1/")


class RequestLog(RequestMiddleware):
    """Logs requests without their query: a careless client puts its token or key there."""

    @staticmethod
    def format_request(request: HttpRequest) -> str:
        """Method and path."""
        return f"{request.method} {request.path}"


@sync_and_async_middleware
def method_envelope(get_response: Handler) -> Handler:
    """Answer a wrong method below /v1/ as any other error; Ninja has plain text for it."""
    if iscoroutinefunction(get_response):

        async def asynchronous(request: HttpRequest) -> HttpResponseBase:
            return _answer(request, await get_response(request))

        return asynchronous

    def synchronous(request: HttpRequest) -> HttpResponseBase:
        response = get_response(request)
        assert isinstance(response, HttpResponseBase)  # noqa: S101 - it is no coroutine function
        return _answer(request, response)

    return synchronous


def _answer(request: HttpRequest, response: HttpResponseBase) -> HttpResponseBase:
    if not isinstance(response, HttpResponseNotAllowed) or not _API.match(request.path):
        return response
    allowed = sorted(name.strip() for name in response["Allow"].split(","))
    return problem_response(problem_of(MethodNotAllowed(request.method or "", allowed)))
