"""ChatTTS through the whole platform: started with its weights, heard over HTTP and sockets.

The weights are random and tiny: what they say is noise, which real weights replace.
"""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
import redis

from tests.e2e.chattts_weights import chattts_running
from tests.e2e.pair import until
from tests.e2e.speech_client import SpeechClient, samples
from tts.engines.chattts.random_checkpoint import Ends, RandomCheckpoint, Size
from tts.gateway.census import workers_read_sync
from tts.gateway.heartbeat import WorkerBeat

pytestmark = [pytest.mark.e2e, pytest.mark.xdist_group("chattts"), pytest.mark.timeout(180)]

TEXT = "Good morning, 今天有 3 个会议。"
VOICE = "chattts_1"


@pytest.fixture(scope="module")
def chattts(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SpeechClient]:
    """A client of a platform that was started with a folder of ChatTTS weights, as users do."""
    with chattts_running(tmp_path_factory.mktemp("chattts")) as platform:
        client = SpeechClient(platform)
        yield client
        client.close()


def beat(client: SpeechClient) -> WorkerBeat:
    """What the worker last said of itself."""
    url = (client.platform.var_dir / "run" / "redis.url").read_text()
    with redis.Redis.from_url(url) as store:
        (found,) = workers_read_sync(store)
    return found


def is_idle(client: SpeechClient) -> bool:
    now = beat(client)
    return now.active == now.waiting == 0 and now.free_slots == now.slots


@pytest.mark.parametrize("model", ["tts-1", "tts-1-hd", "chattts"])
@pytest.mark.parametrize("tier", ["realtime", "standard", "hq"])
def test_every_model_name_speaks_in_every_tier(
    chattts: SpeechClient, model: str, tier: str
) -> None:
    spoken = chattts.pcm(TEXT, model=model, voice=VOICE, quality_tier=tier)
    assert len(spoken) > 0
    assert spoken.any()


def test_the_voice_names_that_clients_know_are_voices_of_chattts(chattts: SpeechClient) -> None:
    assert len(chattts.pcm("Hello there.", voice="alloy"))


def test_a_seed_gives_the_same_audio_alone_and_among_others(chattts: SpeechClient) -> None:
    alone = chattts.pcm(TEXT, voice=VOICE, seed=7)
    with ThreadPoolExecutor(6) as pool:
        others = [
            pool.submit(chattts.pcm, f"{TEXT} {number}", voice=f"chattts_{number}", seed=number)
            for number in range(1, 5)
        ]
        again = [pool.submit(chattts.pcm, TEXT, voice=VOICE, seed=7) for _ in range(2)]
    for result in again:
        np.testing.assert_array_equal(result.result(), alone)
    assert len({result.result().tobytes() for result in others}) == len(others)


def test_a_socket_speaks_two_voices_side_by_side(chattts: SpeechClient) -> None:
    with chattts.socket(voice=VOICE, seed=3) as socket:
        for context, voice in (("one", VOICE), ("two", "chattts_2")):
            socket.send("session.update", voice=voice)
            socket.send("input_text.append", context_id=context, text=TEXT)
            socket.send("input_text.end", context_id=context)
        for context in ("one", "two"):
            socket.until("speech.done", context_id=context, reason="completed")
    one, two = (samples(socket.audio[context]) for context in ("one", "two"))
    np.testing.assert_array_equal(one, chattts.pcm(TEXT, voice=VOICE, seed=3))
    assert one.tobytes() != two.tobytes()


def test_control_tokens_change_what_is_said_and_unknown_ones_are_told(
    chattts: SpeechClient,
) -> None:
    plain = chattts.pcm("Well done.", voice=VOICE, seed=1)
    laughing = chattts.pcm("Well [laugh] done.", voice=VOICE, seed=1)
    assert plain.tobytes() != laughing.tobytes()
    refused = chattts.post("Well [speed_42] done.", voice=VOICE)
    assert refused.status_code == 400
    assert "[speed_42]" in refused.json()["error"]["message"]


def test_listeners_who_leave_free_their_slots(chattts: SpeechClient) -> None:
    until(lambda: is_idle(chattts))
    for _ in range(20):
        with chattts.stream(TEXT * 10, voice=VOICE, response_format="pcm") as response:
            next(response.iter_raw())
    until(lambda: is_idle(chattts))


def checked(client: SpeechClient, key: str, numbers: str) -> None:
    """Keep a verdict on `realtime` as `model_check` does; returns once the version is loaded so."""
    log = client.platform.var_dir / "serve.log"
    before = log.read_text().count("version_unloaded")
    verdict = "WORSE" if numbers else "PASSED"
    client.platform.manage(
        "shell",
        "-c",
        "from django.utils import timezone\n"
        "from models_registry.services import CheckedProfile, version_checks_set\n"
        "from models_registry.states import Verdict\n"
        f"found = CheckedProfile('realtime', Verdict.{verdict}, {{}}, {{}}, {numbers!r})\n"
        f"version_checks_set({key!r}, [found], sentences=20, at=timezone.now())\n",
    )
    until(lambda: log.read_text().count("version_unloaded") > before)
    until(lambda: key in beat(client).versions)


def test_a_profile_that_is_worse_is_loaded_in_other_numbers_without_a_restart(
    chattts: SpeechClient,
) -> None:
    versions = {each for each in beat(chattts).versions if each.startswith("chattts@")}
    (key,) = versions - {"chattts@2", "chattts@3"}  # other tests'
    int8 = chattts.pcm(TEXT, model="chattts", voice=VOICE, seed=8)
    checked(chattts, key, "standard")
    assert "profile_falls_back" in (chattts.platform.var_dir / "serve.log").read_text()
    bf16 = chattts.pcm(TEXT, model="chattts", voice=VOICE, seed=8)
    assert int8.tobytes() != bf16.tobytes()
    checked(chattts, key, "")
    again = chattts.pcm(TEXT, model="chattts", voice=VOICE, seed=8)
    np.testing.assert_array_equal(int8, again)


def test_two_versions_speak_side_by_side(chattts: SpeechClient, tmp_path: Path) -> None:
    RandomCheckpoint(Size.TINY, seed=2, ends=Ends.LIKELY).write(tmp_path / "other")
    first = chattts.pcm(TEXT, model="chattts", voice=VOICE, seed=5)
    manage = chattts.platform.manage
    manage("model_import", "chattts", str(tmp_path / "other"), "--version", "2")
    manage("route_set", "tts-1-hd", "chattts@2=100")
    until(lambda: "chattts@2" in beat(chattts).versions)
    second = chattts.pcm(TEXT, model="tts-1-hd", voice=VOICE, seed=5)
    assert first.tobytes() != second.tobytes()
    again = chattts.pcm(TEXT, model="chattts", voice=VOICE, seed=5)
    np.testing.assert_array_equal(first, again)


def test_a_version_speaks_by_its_dvae(chattts: SpeechClient, tmp_path: Path) -> None:
    RandomCheckpoint(Size.TINY, seed=3, ends=Ends.LIKELY).write(tmp_path / "bare")
    (tmp_path / "bare" / "asset" / "Decoder.safetensors").unlink()
    manage = chattts.platform.manage
    manage("model_import", "chattts", str(tmp_path / "bare"), "--version", "3", "--dvae")
    manage("route_set", "tts-1-hd", "chattts@3=100")
    until(lambda: "chattts@3" in beat(chattts).versions)
    spoken = chattts.pcm(TEXT, model="tts-1-hd", voice=VOICE, seed=5)
    np.testing.assert_array_equal(spoken, chattts.pcm(TEXT, model="tts-1-hd", voice=VOICE, seed=5))
    assert spoken.any()
