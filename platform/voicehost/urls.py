"""URLs served by Django; the speech endpoints are routed in `voicehost.asgi`."""

from django.contrib import admin
from django.urls import URLPattern, URLResolver, path, re_path

from monitoring.health import healthz, readyz
from voicehost.api import api, bad_request, server_error, unknown_url
from voicehost.home import favicon, home

urlpatterns: list[URLPattern | URLResolver] = [
    path("", home, name="home"),
    path("favicon.ico", favicon, name="favicon"),
    path("admin/", admin.site.urls),
    path("healthz", healthz, name="healthz"),
    path("readyz", readyz, name="readyz"),
    path("v1/", unknown_url),
    path("v1/", api.urls),
    # Not below admin/, which has pages of its own for people, and redirects to its slash.
    re_path(r"^(?!admin(?:/|$))", unknown_url),
]
handler400 = bad_request
handler500 = server_error
