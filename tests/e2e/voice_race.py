"""Eight callers at once, in one process: for the last room for a voice, and for one voice."""

import json
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from threading import Barrier
from typing import TypeVar

from django.db import connection

from tenants.models import Tenant
from tts.errors import VoiceLimit
from tts.models import Voice
from tts.selectors import SpeakerSpace
from tts.services import VoiceDraft, own_voices, voice_create, voice_erase, voice_update
from tts.services.voice_material import VoiceSource

CALLERS = 8
T = TypeVar("T")


def race() -> None:
    """Print, as JSON, what each caller was told, and how many voices there were; they are gone."""
    own_voices.MAX_VOICES = 1
    tenant = Tenant.objects.get(slug="demo").pk
    space = SpeakerSpace(hidden=64, codebooks=4)

    def order(number: int) -> str:
        source = VoiceSource(seed=number)
        wanted = own_voices.VoiceOrder(f"late-{number}", tenant, ("en",), source)
        try:
            own_voices.voice_order(wanted, space)
        except VoiceLimit:
            return "voice_limit"
        return "made"

    told = sorted(_at_once(order))
    mine = Voice.objects.filter(tenant_id=tenant)
    made = mine.count()
    mine.delete()
    print(json.dumps([told, made]))  # noqa: T201 - its result


def changes() -> None:
    """Print, as JSON, the aliases of a voice that each caller gave one; the voice is gone."""
    tenant = Tenant.objects.get(slug="demo").pk
    voice = voice_create(VoiceDraft("shared", "tone", ("en",), tenant))

    def name(number: int) -> None:
        voice_update(voice, lambda draft: replace(draft, aliases=(*draft.aliases, f"a{number}")))

    _at_once(name)
    voice.refresh_from_db()
    voice_erase(voice)
    print(json.dumps(sorted(voice.aliases)))  # noqa: T201 - its result


def _at_once(ask: Callable[[int], T]) -> list[T]:
    barrier = Barrier(CALLERS)

    def wait(number: int) -> T:
        barrier.wait()
        try:
            return ask(number)
        finally:
            connection.close()

    with ThreadPoolExecutor(CALLERS) as callers:
        return list(callers.map(wait, range(CALLERS)))
