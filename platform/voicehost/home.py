"""The page at the address of the platform itself, where to go from there, and its icon."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.templatetags.static import static
from django.views.decorators.http import require_safe

from voicehost.release import release


@require_safe
def home(request: HttpRequest) -> HttpResponse:
    """Links to the admin, the API's description and the state of health."""
    return render(request, "voicehost/home.html", {"release": release()})


@require_safe
def favicon(request: HttpRequest) -> HttpResponse:
    """Where browsers look for an icon by themselves: with JSON, images, and pages of errors."""
    return redirect(static("voicehost/favicon.svg"))
