"""The page at the address of the platform itself: where to go from there."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from voicehost.release import release


@require_safe
def home(request: HttpRequest) -> HttpResponse:
    """Links to the admin, the API's description and the state of health."""
    return render(request, "voicehost/home.html", {"release": release()})
