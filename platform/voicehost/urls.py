"""URLs served by Django; the speech endpoints are routed in `voicehost.asgi`."""

from django.contrib import admin
from django.urls import URLPattern, URLResolver, path

from monitoring.health import healthz, readyz

urlpatterns: list[URLPattern | URLResolver] = [
    path("admin/", admin.site.urls),
    path("healthz", healthz, name="healthz"),
    path("readyz", readyz, name="readyz"),
]
