"""What programs ask for in vain is answered in the API's envelope; the admin has its own pages."""

import logging
from typing import Any

import pytest
from django.http import HttpRequest, HttpResponse
from django.test import Client
from django.urls import path

from voicehost.hosts import LocalHosts
from voicehost.urls import handler400, handler500, urlpatterns

MACHINE = LocalHosts.of("127.0.0.1", ["speech.example"])


def broken(request: HttpRequest) -> HttpResponse:
    """A view with a defect."""
    raise ValueError("secret")


class Urls:
    """The project's, and views that fail."""

    urlpatterns = (path("broken", broken), path("admin/broken", broken), *urlpatterns)
    handler400 = staticmethod(handler400)
    handler500 = staticmethod(handler500)


@pytest.fixture
def client() -> Client:
    """A client that gets answers where a view fails, as over the network, and keeps CSRF checks."""
    return Client(raise_request_exception=False, enforce_csrf_checks=True)


def error_of(response: Any, status: int, code: str) -> str:
    """The message of the envelope."""
    assert response.status_code == status
    assert response["Content-Type"] == "application/json"
    assert response["X-Request-Id"].startswith("req_")
    error = response.json()["error"]
    assert error.keys() == {"message", "type", "param", "code"}
    assert error["code"] == code
    return str(error["message"])


@pytest.mark.parametrize(
    "address", ["/nothing", "/healthz/", "/readyz/x", "/v1", "/v1/", "/v1/nothing",
                "/administrator", "/static/nothing.css"],
)  # fmt: skip
@pytest.mark.parametrize("method", ["get", "post", "delete"])
def test_address_where_nothing_is(client: Client, address: str, method: str) -> None:
    message = error_of(getattr(client, method)(address), 404, "unknown_url")
    assert message == f"There is no {method.upper()} {address!r}."


def test_long_address_is_not_repeated(client: Client) -> None:
    message = error_of(client.get("/" + "x" * 5_000), 404, "unknown_url")
    assert len(message) < 120


@pytest.mark.parametrize("address", ["/healthz", "/readyz"])
@pytest.mark.parametrize("method", ["post", "put", "delete", "options"])
def test_health_is_only_read(client: Client, address: str, method: str) -> None:
    response = getattr(client, method)(address)
    assert "use GET or HEAD" in error_of(response, 405, "method_not_allowed")
    assert response["Allow"] == "GET, HEAD"


@pytest.mark.parametrize("method", ["get", "head"])
def test_health_answers(client: Client, method: str) -> None:
    response = getattr(client, method)("/healthz")
    assert response.status_code == 200
    assert response["X-Request-Id"].startswith("req_")


def test_admin_has_its_own_pages(client: Client) -> None:
    response = client.get("/admin")
    assert (response.status_code, response["Location"]) == (301, "/admin/")
    response = client.get("/admin/nothing/")
    assert response.status_code == 302
    assert response["Location"].startswith("/admin/login/")


def test_defect_of_a_view(client: Client, settings: Any) -> None:
    settings.ROOT_URLCONF = Urls
    assert "secret" not in error_of(client.get("/broken"), 500, "internal_error")
    page = client.get("/admin/broken")
    assert page.status_code == 500
    assert page["Content-Type"].startswith("text/html")


@pytest.mark.parametrize("allowed", [[], ["*"]])
def test_host_that_is_not_served(client: Client, settings: Any, allowed: list[str]) -> None:
    settings.ALLOWED_HOSTS, settings.LOCAL_HOSTS = allowed, MACHINE if allowed else None
    for address in ("/healthz", "/v1/models", "/v1/nothing"):
        response = client.get(address, headers={"host": "evil.example"})
        assert "Host" in error_of(response, 400, "unknown_host")
    page = client.get("/admin/", headers={"host": "evil.example"})
    assert page.status_code == 400
    assert page["Content-Type"].startswith("text/html")


@pytest.mark.parametrize("allowed", [[], ["*"]])
@pytest.mark.parametrize("address", ["/healthz", "/v1/models", "/admin/", "/nothing"])
def test_unknown_host_is_one_line_of_the_log(
    client: Client,
    settings: Any,
    caplog: pytest.LogCaptureFixture,
    allowed: list[str],
    address: str,
) -> None:
    settings.ALLOWED_HOSTS, settings.LOCAL_HOSTS = allowed, MACHINE if allowed else None
    client.get(address, headers={"host": "evil.example"})
    (line,) = caplog.records
    assert line.levelno == logging.WARNING
    assert line.exc_info is None
    assert isinstance(line.msg, dict)
    assert line.msg["refused_host"] == "'evil.example'"
    assert (line.msg["code"], line.msg["request"]) == (400, f"GET {address}")


@pytest.mark.parametrize("host", ["localhost:8000", "127.0.0.1", "[::1]:80", "speech.example"])
def test_host_of_the_machine(client: Client, settings: Any, host: str) -> None:
    settings.ALLOWED_HOSTS, settings.LOCAL_HOSTS = ["*"], MACHINE
    response = client.get("/healthz", headers={"host": host})
    assert response.status_code == 200
