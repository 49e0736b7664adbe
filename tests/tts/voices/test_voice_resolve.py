"""A request's voice becomes what an engine speaks with, and never another tenant's."""

from uuid import UUID, uuid4

import pytest
from asgiref.sync import async_to_sync
from pytest_django import DjangoAssertNumQueries

from coordination.epoch import ConfigCache
from tests.epoch import Epoch
from tts.engine.request import VoicePart, VoiceSpec
from tts.errors import VoiceNotFound
from tts.models import Voice
from tts.selectors import voice_resolve
from tts.services import VoiceDraft, voice_create, voice_deactivate

MINE, OTHER = uuid4(), uuid4()


def resolve(
    name: str, cache: ConfigCache, tenant: UUID | str | None = MINE, engine: str = "kokoro"
) -> VoiceSpec:
    return async_to_sync(voice_resolve)(name, tenant_id=tenant, engine=engine, cache=cache)


@pytest.mark.usefixtures("kokoro")
def test_plain_voice_comes_with_its_companion(cache: ConfigCache) -> None:
    voice = resolve("af_heart", cache)
    assert voice.parts == (VoicePart("af_heart"),)
    assert voice.languages == ("en",)
    assert voice.companion is not None
    assert voice.companion.name == "zf_xiaoxiao"
    assert voice.companion.companion is None  # one level, though they accompany each other


@pytest.mark.usefixtures("kokoro")
@pytest.mark.parametrize(
    "alias",
    [
        *("alloy", "ash", "ballad", "coral", "echo", "fable", "onyx"),
        *("nova", "sage", "shimmer", "verse", "marin", "cedar"),
    ],
)
def test_every_name_of_openai_speaks(alias: str, cache: ConfigCache) -> None:
    voice = resolve(alias, cache)
    assert voice.engine == "kokoro"
    assert voice.name != alias


@pytest.mark.usefixtures("kokoro")
def test_mix_has_weights_all_languages_and_the_mean_gain(cache: ConfigCache) -> None:
    voice = resolve("af_heart(2)+zf_xiaoxiao(1)", cache)
    assert voice.name == "af_heart(2)+zf_xiaoxiao(1)"
    assert voice.parts == (VoicePart("af_heart", 2.0), VoicePart("zf_xiaoxiao", 1.0))
    assert voice.languages == ("en", "zh")
    assert voice.gain_db == pytest.approx((2 * 3.0 + 1 * -3.0) / 3)
    assert voice.companion is not None


@pytest.mark.usefixtures("kokoro")
def test_the_same_speaker_twice_is_one_part(cache: ConfigCache) -> None:
    assert resolve("alloy(1)+nova(2)", cache).parts == (VoicePart("af_heart", 3.0),)


@pytest.mark.usefixtures("kokoro")
@pytest.mark.parametrize("name", ["nobody", "../../etc/passwd", "", "af_heart "])
def test_unknown_and_odd_names_get_the_same_404(name: str, cache: ConfigCache) -> None:
    with pytest.raises(VoiceNotFound) as caught:
        resolve(name, cache)
    assert (caught.value.status, caught.value.code, caught.value.param) == (
        404,
        "voice_not_found",
        "voice",
    )


@pytest.mark.usefixtures("kokoro")
def test_unknown_part_of_a_mix_is_named_with_those_there_are(cache: ConfigCache) -> None:
    with pytest.raises(VoiceNotFound, match=r"'nobody'.*available: af_heart"):
        resolve("af_heart+nobody", cache)


@pytest.mark.usefixtures("kokoro")
def test_voice_of_another_engine_is_not_found(cache: ConfigCache) -> None:
    with pytest.raises(VoiceNotFound):
        resolve("af_heart", cache, engine="tone")


@pytest.mark.usefixtures("kokoro")
def test_tenants_own_voice_comes_before_a_public_alias(cache: ConfigCache) -> None:
    voice_create(
        VoiceDraft(
            name="alloy", engine="kokoro", languages=("en",), tenant_id=MINE, payload=b"embedding"
        )
    )
    own = resolve("alloy", cache, tenant=str(MINE))
    assert own.parts == (VoicePart("alloy", payload=b"embedding"),)
    assert resolve("alloy", cache, tenant=OTHER).name == "af_heart"
    assert resolve("alloy", cache, tenant=None).name == "af_heart"


@pytest.mark.usefixtures("kokoro")
def test_another_tenants_voice_does_not_exist(cache: ConfigCache) -> None:
    voice_create(VoiceDraft(name="secret", engine="kokoro", languages=("en",), tenant_id=OTHER))
    for name in ("secret", "secret+af_heart"):
        with pytest.raises(VoiceNotFound) as caught:
            resolve(name, cache)
        assert "secret" not in caught.value.available


@pytest.mark.usefixtures("kokoro")
def test_companion_that_came_to_be_another_tenants_is_left_out(cache: ConfigCache) -> None:
    mine = voice_create(VoiceDraft(name="mine", engine="kokoro", languages=("en",), tenant_id=MINE))
    theirs = voice_create(
        VoiceDraft(name="theirs", engine="kokoro", languages=("zh",), tenant_id=OTHER)
    )
    Voice.objects.filter(pk=mine.pk).update(companion=theirs)  # past the service's own check
    assert resolve("mine", cache).companion is None


@pytest.mark.usefixtures("kokoro")
def test_embeddings_of_a_mix_come_with_their_parts(cache: ConfigCache) -> None:
    for name, payload in (("one", b"1"), ("two", b"2")):
        voice_create(
            VoiceDraft(
                name=name,
                engine="kokoro",
                languages=("en",),
                tenant_id=MINE,
                speaker="clone",
                payload=payload,
            )
        )
    assert resolve("one(2)+two", cache).parts == (
        VoicePart("clone", 2.0, b"1"),
        VoicePart("clone", 1.0, b"2"),
    )


@pytest.mark.usefixtures("kokoro")
def test_voice_out_of_use_is_gone_with_the_next_epoch(cache: ConfigCache, epoch: Epoch) -> None:
    resolve("zf_xiaoxiao", cache)
    voice_deactivate(Voice.objects.get(name="zf_xiaoxiao"))
    epoch.bump()
    with pytest.raises(VoiceNotFound):
        resolve("zf_xiaoxiao", cache)
    assert resolve("af_heart", cache).companion is None


@pytest.mark.usefixtures("kokoro")
def test_repeated_look_ups_read_the_database_once(
    cache: ConfigCache, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    with django_assert_num_queries(1):
        for _ in range(5):
            resolve("af_heart", cache)
            resolve("nova+zm_yunxi", cache)
