"""Lists show a tenant its own voices and the public ones."""

from uuid import uuid4

import pytest
from asgiref.sync import async_to_sync

from tests.tts.voices.seeds import KOKORO
from tts.selectors import voices_listed, voices_speaking
from tts.services import VoiceDraft, voice_create, voices_sync
from tts.voice_catalogue import tone_voices

TENANT, OTHER = uuid4(), uuid4()


@pytest.mark.usefixtures("kokoro")
def test_public_voices_are_listed() -> None:
    voices = async_to_sync(voices_listed)(None)
    assert {voice.name for voice in voices} == {seed.name for seed in KOKORO}
    heart = next(voice for voice in voices if voice.name == "af_heart")
    assert heart.companion == "zf_xiaoxiao"
    assert "alloy" in heart.aliases
    assert heart.is_public


@pytest.mark.usefixtures("kokoro")
def test_own_voices_come_first_and_others_never() -> None:
    for tenant, name in ((TENANT, "mine"), (OTHER, "theirs"), (TENANT, "af_heart")):
        voice_create(VoiceDraft(name=name, engine="kokoro", languages=("en",), tenant_id=tenant))
    voices = async_to_sync(voices_listed)(str(TENANT))
    names = [voice.name for voice in voices]
    assert names[:2] == ["af_heart", "mine"]
    assert names.count("af_heart") == 1
    assert "theirs" not in names
    assert [voice.is_public for voice in voices[:3]] == [False, False, True]


@pytest.mark.usefixtures("kokoro")
def test_lists_of_one_engine_and_language() -> None:
    voices_sync("tone", tone_voices())
    tones = async_to_sync(voices_listed)(None, "tone")
    assert [voice.name for voice in tones] == ["tone-a", "tone-b", "tone-c"]
    chinese = async_to_sync(voices_speaking)("zh", None, "kokoro")
    assert chinese == ("zf_xiaobei", "zf_xiaoxiao", "zm_yunjian", "zm_yunxi")
    assert async_to_sync(voices_speaking)("ja", None, "kokoro") == ()
