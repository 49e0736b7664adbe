"""Kokoro speaks, and is understood."""

import threading
from collections.abc import Iterator

import numpy as np
import pytest

from tests.requirement import missing
from tests.speech.judge import ENGLISH_GATE, PINYIN_GATE
from tests.tts.engines.kokoro_bench import LIMIT, Bench, segment, voice
from tts.audio.loudness import loudness_lufs
from tts.engine.errors import NothingToSpeak, SynthesisFailed, VersionUnavailable, VoiceUnavailable
from tts.engine.request import Profile, VoicePart, VoiceSpec
from tts.engines.base import Device, Samples, SynthesisParams
from tts.engines.kokoro.engine import KokoroEngine
from tts.engines.kokoro.manifest import bundled_available, bundled_manifest
from tts.engines.kokoro.model import FullModel
from tts.engines.shards import LocalShards
from tts.recognition.recogniser import Recogniser

RATE = 24_000
SHORT = "Hello."
MIX = VoiceSpec(
    "af_heart(2)+zf_xiaoxiao(1)",
    "kokoro",
    (VoicePart("af_heart", 2.0), VoicePart("zf_xiaoxiao", 1.0)),
    ("en", "zh"),
)


@pytest.fixture(scope="module")
def shards() -> LocalShards:
    reason = bundled_available()
    if reason is not None:
        missing(reason)
    return LocalShards(bundled_manifest().shards)


@pytest.fixture(scope="module")
def realtime(shards: LocalShards) -> Iterator[Bench]:
    bench = Bench(shards, Profile.REALTIME)
    yield bench
    bench.engine.close()


@pytest.fixture(scope="module")
def standard(shards: LocalShards) -> Iterator[Bench]:
    bench = Bench(shards, Profile.STANDARD)
    yield bench
    bench.engine.close()


def level_db(audio: Samples) -> float:
    return 20.0 * float(np.log10(np.sqrt(np.mean(np.square(audio))) + 1e-9))


@pytest.mark.speech
def test_the_distilled_voice_is_understood(realtime: Bench, recogniser: Recogniser) -> None:
    text = "Please leave your name and number, and we will call you back. Have a good day!"
    (heard,) = realtime.run(realtime.prepare(text, voice("af_heart")))
    assert recogniser.english_wer(heard.audio, RATE, text) <= ENGLISH_GATE
    assert len([chunk for chunk in heard.chunks if len(chunk)]) == 2  # a chunk a sentence


@pytest.mark.speech
def test_the_full_model_is_understood_in_english(standard: Bench, recogniser: Recogniser) -> None:
    text = "The weather in London is lovely this afternoon."
    assert (
        recogniser.english_wer(standard.say(text, voice("bm_george")), RATE, text) <= ENGLISH_GATE
    )


@pytest.mark.speech
def test_the_full_model_is_understood_in_mandarin(realtime: Bench, recogniser: Recogniser) -> None:
    text = "今天天气很好，我们一起去公园散步吧。"
    assert (
        recogniser.pinyin_error(realtime.say(text, voice("zf_xiaoxiao")), RATE, text) <= PINYIN_GATE
    )


@pytest.mark.speech
def test_english_inside_mandarin_is_spoken_by_the_companion(
    realtime: Bench, recogniser: Recogniser
) -> None:
    spans = "请打开|Windows|然后点击|start menu|就可以了。"
    (heard,) = realtime.run(realtime.prepare(spans, voice("zf_xiaoxiao")))
    assert recogniser.pinyin_error(heard.audio, RATE, spans.replace("|", " ")) <= PINYIN_GATE
    levels = [loudness_lufs(chunk, RATE) for chunk in heard.chunks if len(chunk)]
    assert len(levels) == 5
    assert max(levels) - min(levels) < 3.0
    assert longest_gap(heard.audio) <= 0.15


@pytest.mark.speech
def test_a_mix_is_a_voice_of_its_own_and_understood(
    standard: Bench, recogniser: Recogniser
) -> None:
    text = "The mixture of two voices is a new voice."
    mixed = standard.say(text, MIX)
    assert recogniser.english_wer(mixed, RATE, text) <= ENGLISH_GATE
    plain = standard.say(text, voice("af_heart"))
    assert len(mixed) != len(plain) or not np.allclose(mixed, plain, atol=1e-3)


@pytest.mark.parametrize("text", ["Hello.", "Hello"])
@pytest.mark.parametrize("profile", ["realtime", "standard"])
def test_the_tail_of_a_short_word_is_quiet(
    text: str, profile: str, realtime: Bench, standard: Bench
) -> None:
    bench = realtime if profile == "realtime" else standard
    audio = bench.say(text, voice("af_heart"))
    assert level_db(audio[-RATE // 20 :]) < -50.0
    assert np.abs(audio).max() > 0.05


def test_a_seed_gives_the_same_samples_alone_and_beside_others(realtime: Bench) -> None:
    text = "Nobody knows why it works. It does."
    alone = realtime.say(text, voice("af_heart"), seed=7)
    again, other, mandarin = realtime.run(
        realtime.prepare(text, voice("af_heart"), seed=7),
        realtime.prepare("Something else entirely.", voice("af_heart"), seed=7),
        realtime.prepare("你好。", voice("zf_xiaoxiao")),
    )
    assert np.array_equal(alone, again.audio)
    assert not np.array_equal(alone, realtime.say(text, voice("af_heart"), seed=8))
    assert np.array_equal(
        realtime.say(text, voice("af_heart")), realtime.say(text, voice("af_heart"))
    )
    assert len(other.audio) > RATE // 2
    assert np.array_equal(mandarin.audio, realtime.say("你好。", voice("zf_xiaoxiao")))


def test_parallel_voices_give_what_each_gives_alone(standard: Bench) -> None:
    speakers = ("af_heart", "am_michael", "bf_emma", "zf_xiaobei")
    texts = {name: "你好。" if name.startswith("z") else SHORT for name in speakers}
    alone = [standard.say(texts[name], voice(name)) for name in speakers]
    together = standard.run(
        *(standard.prepare(texts[name], voice(name)) for name in (*speakers, *speakers))
    )
    for audio, heard in zip(alone * 2, together, strict=True):
        assert heard.error is None
        assert np.array_equal(audio, heard.audio)
    assert len({len(audio) for audio in alone} | {float(audio.sum()) for audio in alone}) > 4


def test_a_released_utterance_ends_its_running_call(
    realtime: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A call of many seconds' computing is ended by onnxruntime; the engine speaks on."""
    speak = FullModel.speak
    entered, left = threading.Event(), threading.Event()
    raised: list[str] = []

    def watched(self: FullModel, *call: object) -> Samples:
        entered.set()
        try:
            return speak(self, *call)  # type: ignore[arg-type]  # passed on as they came
        except Exception as error:
            raised.append(str(error))
            raise
        finally:
            left.set()

    monkeypatch.setattr(FullModel, "speak", watched)
    long = " ".join(["the little river carries the yellow leaves away"] * 10)
    utterance = realtime.prepare(long, voice("am_michael"))
    realtime.engine.step([utterance])
    assert entered.wait(LIMIT)
    realtime.engine.release(utterance)
    assert left.wait(LIMIT)
    assert "terminate" in raised[0]
    assert realtime.engine.step([]) == []
    assert len(realtime.say(SHORT, voice("af_heart"))) > 0


def test_a_passage_longer_than_one_call_is_joined(
    realtime: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[int] = []
    speak = FullModel.speak

    def counted(self: FullModel, ids: Samples, *rest: object) -> Samples:
        calls.append(ids.shape[1] - 2)
        return speak(self, ids, *rest)  # type: ignore[arg-type]  # passed on as they came

    monkeypatch.setattr(FullModel, "speak", counted)
    monkeypatch.setattr("tts.engines.kokoro.speech.MOST_PHONEMES", 30)
    (heard,) = realtime.run(
        realtime.prepare("the yellow leaves float far away over the water", voice("am_michael"))
    )
    assert len(calls) == 2
    assert max(calls) <= 30
    assert longest_gap(heard.audio) <= 0.15


def test_what_a_voice_cannot_do_is_an_error_that_says_what_can(standard: Bench) -> None:
    alone = voice("zf_xiaoxiao", companion=False)
    with pytest.raises(VoiceUnavailable, match=r"does not speak 'en'.*af_heart"):
        standard.prepare("Hello.", alone)
    for parts, message in (
        ((VoicePart("nobody"),), "no speaker nobody; there are: af_heart"),
        ((), "no speaker given"),
        ((VoicePart("af_heart", 0.0),), "weight"),
        ((VoicePart("af_heart", float("nan")),), "weight"),
    ):
        with pytest.raises(VoiceUnavailable, match=message):
            standard.prepare("Hello.", VoiceSpec("v", "kokoro", parts, ("en",)))
    embedding = (VoicePart("af_heart"), VoicePart("clone", payload=b"x"))
    with pytest.raises(VoiceUnavailable, match="embedding"):
        standard.prepare("Hello.", VoiceSpec("v", "kokoro", embedding, ("en",)))


def test_nothing_to_speak_is_said_so(standard: Bench) -> None:
    params = SynthesisParams(Profile.STANDARD)
    with pytest.raises(NothingToSpeak):
        standard.engine.prepare(segment("..."), voice("af_heart"), params)
    (heard,) = standard.run(standard.prepare("ａ", voice("zf_xiaoxiao")))
    assert isinstance(heard.error, NothingToSpeak)


def test_a_failure_concerns_one_utterance_only(
    standard: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    speak = FullModel.speak

    def failing(self: FullModel, ids: Samples, *rest: object) -> Samples:
        if ids.shape[1] > 20:
            raise RuntimeError("out of memory")
        return speak(self, ids, *rest)  # type: ignore[arg-type]  # passed on as they came

    monkeypatch.setattr(FullModel, "speak", failing)
    bad, good = standard.run(
        standard.prepare("This sentence is the longer one.", voice("am_michael")),
        standard.prepare(SHORT, voice("am_michael")),
    )
    assert isinstance(bad.error, SynthesisFailed)
    assert good.error is None
    assert len(good.audio) > 0


@pytest.mark.parametrize(
    ("shard", "message"),
    [("distilled", "no usable ONNX"), ("voices", "no npz"), ("vocab", "vocab")],
)
def test_broken_shards_are_named_when_loading(
    shards: LocalShards, shard: str, message: str
) -> None:
    class Broken(LocalShards):
        def read(self, name: str) -> memoryview:
            return memoryview(b"broken") if name == shard else super().read(name)

    broken = Broken(bundled_manifest().shards)
    with pytest.raises(VersionUnavailable, match=message):
        KokoroEngine().load(broken, Device(), Profile.REALTIME, lambda: None)


def longest_gap(audio: Samples) -> float:
    """Seconds of the longest silence (-50 dBFS) between the first and the last sound."""
    loud = np.flatnonzero(np.abs(audio) > 10 ** (-50 / 20))
    return float(np.diff(loud).max()) / RATE
