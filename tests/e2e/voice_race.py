"""Eight callers who want the last room for a voice of the demo tenant, in one process."""

import json
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

from django.db import connection

from tenants.models import Tenant
from tts.errors import VoiceLimit
from tts.models import Voice
from tts.selectors import SpeakerSpace
from tts.services import own_voices
from tts.services.voice_material import VoiceSource

CALLERS = 8


def race() -> None:
    """Print, as JSON, what each caller was told, and how many voices there were; they are gone."""
    own_voices.MAX_VOICES = 1
    tenant = Tenant.objects.get(slug="demo").pk
    space = SpeakerSpace(hidden=64, codebooks=4)
    barrier = Barrier(CALLERS)

    def order(number: int) -> str:
        source = VoiceSource(seed=number)
        wanted = own_voices.VoiceOrder(f"late-{number}", tenant, ("en",), source)
        barrier.wait()
        try:
            own_voices.voice_order(wanted, space)
        except VoiceLimit:
            return "voice_limit"
        finally:
            connection.close()
        return "made"

    with ThreadPoolExecutor(CALLERS) as callers:
        told = sorted(callers.map(order, range(CALLERS)))
    mine = Voice.objects.filter(tenant_id=tenant)
    made = mine.count()
    mine.delete()
    print(json.dumps([told, made]))  # noqa: T201 - its result
