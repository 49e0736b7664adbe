"""Middleware of the project: what a request is called, what is logged, how it is refused."""

from collections.abc import Awaitable, Callable
from typing import Any

import structlog
from asgiref.sync import iscoroutinefunction
from django.conf import settings
from django.core.exceptions import DisallowedHost
from django.dispatch import receiver
from django.http import HttpRequest, HttpResponse, HttpResponseNotAllowed
from django.http.response import HttpResponseBase
from django.utils.decorators import sync_and_async_middleware
from django_structlog import signals
from django_structlog.middlewares import RequestMiddleware

from tts.speech.errors import MethodNotAllowed
from tts.speech.problem import problem_of
from tts.speech.service import request_id_new
from voicehost.api import is_page, problem_response

Handler = Callable[[HttpRequest], HttpResponseBase | Awaitable[HttpResponseBase]]


@receiver(signals.bind_extra_request_metadata)
def request_id_bind(sender: object, **named: Any) -> None:
    """Give the request an id of the same form as those of speech."""
    structlog.contextvars.bind_contextvars(request_id=request_id_new())


class RequestLog(RequestMiddleware):
    """Logs requests without their query: a careless client puts its token or key there.

    Answers carry the id that the log lines have.
    """

    def handle_response(self, request: HttpRequest, response: HttpResponse) -> None:
        """Log the end of a request, and say its id."""
        # Before the context is cleared.
        response.headers["X-Request-Id"] = structlog.contextvars.get_contextvars()["request_id"]
        super().handle_response(request, response)

    @staticmethod
    def format_request(request: HttpRequest) -> str:
        """Method and path."""
        return f"{request.method} {request.path}"


@sync_and_async_middleware
def host_guard(get_response: Handler) -> Handler:
    """Refuse a Host that is not the machine's own, where LOCAL_HOSTS says which those are."""
    if iscoroutinefunction(get_response):

        async def asynchronous(request: HttpRequest) -> HttpResponseBase:
            _host_check(request)
            response: HttpResponseBase = await get_response(request)
            return response

        return asynchronous

    def synchronous(request: HttpRequest) -> HttpResponseBase | Awaitable[HttpResponseBase]:
        _host_check(request)
        return get_response(request)

    return synchronous


def _host_check(request: HttpRequest) -> None:
    local = settings.LOCAL_HOSTS
    if local is not None and not local.includes(request.get_host()):
        raise DisallowedHost("the Host is none of this machine's and not in ALLOWED_HOSTS")


@sync_and_async_middleware
def method_envelope(get_response: Handler) -> Handler:
    """Answer a wrong method as any other error; Ninja has plain text for it, Django nothing."""
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
    if not isinstance(response, HttpResponseNotAllowed) or is_page(request):
        return response
    allowed = sorted(name.strip() for name in response["Allow"].split(","))
    return problem_response(problem_of(MethodNotAllowed(request.method or "", allowed)))
