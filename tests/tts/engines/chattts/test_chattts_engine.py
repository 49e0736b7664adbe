"""The ChatTTS engine speaks: batches, voices, takes, and what it refuses."""

import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import wait
from pathlib import Path

import numpy as np
import pytest

from tests.tts.engines.chattts.speaking import (
    HIDDEN,
    Bench,
    embedding,
    segment,
    voice_of,
)
from tts.audio.encoder import StreamEncoder
from tts.audio.format import AudioFormat
from tts.audio.pcm import to_s16le
from tts.engine.errors import EngineError, NothingToSpeak, SynthesisFailed, VoiceUnavailable
from tts.engine.request import Profile, VoicePart, VoiceSpec
from tts.engines.base import Samples, Utterance
from tts.engines.chattts.profile import PROFILES
from tts.engines.chattts.recording import RecordingEncoder
from tts.engines.chattts.tokens import Vocabulary
from tts.engines.chattts.vocoder import Vocoder
from tts.engines.chattts.voice import Embedding, Recording, Sample, material_pack
from tts.engines.chattts.windows import Window
from tts.engines.registry import engine_create
from tts.text.segment import Language, Mark, Segment


@pytest.fixture(scope="module")
def standard(chattts_tiny: Path) -> Iterator[Bench]:
    bench = Bench.load(chattts_tiny, Profile.STANDARD)
    yield bench
    bench.engine.close()


@pytest.fixture(autouse=True)
def nothing_left(standard: Bench) -> Iterator[None]:
    yield
    assert standard.engine.rows == 0
    assert not standard.engine._speeches


def test_text_is_spoken(standard: Bench) -> None:
    (audio,) = standard.speak(standard.prepare("hello there, this is a test"))
    assert audio.dtype == np.float32
    assert np.isfinite(audio).all()
    assert len(audio) > 24_000
    assert np.abs(audio).max() > 0.01


def test_first_audio_leaves_after_the_first_window(standard: Bench) -> None:
    utterance = standard.prepare("hello there")
    steps, results = standard.until_audio(utterance)
    assert steps == PROFILES[Profile.STANDARD].windows.first_tokens
    assert not results[0].finished
    standard.engine.release(utterance)


def test_audio_of_a_seed_is_the_same_alone_and_beside_others(standard: Bench) -> None:
    (alone,) = standard.speak(standard.prepare("hello there", seed=5))
    others = [
        standard.prepare(f"some other words {'and more ' * index}", seed=index)
        for index in range(4)
    ]
    beside, *_ = standard.speak(standard.prepare("hello there", seed=5), *others)
    np.testing.assert_array_equal(alone, beside)


def test_seed_segment_and_voice_decide_what_is_said(standard: Bench) -> None:
    variants = [
        standard.prepare("hello there", seed=5),
        standard.prepare("hello there", seed=6),
        standard.prepare(segment("hello there", index=1), seed=5),
        standard.prepare("hello there", voice_of(embedding(2)), seed=5),
        standard.prepare("hello there", voice_of(embedding(1), embedding(2)), seed=5),
    ]
    audio = [samples.tobytes() for samples in standard.speak(*variants)]
    assert len(set(audio)) == len(audio)


def test_marks_and_prompt_tokens_reach_the_model(standard: Bench) -> None:
    plain = segment("hello there")
    marked = Segment(0, plain.source, plain.spans, 0, 11, (Mark("laugh", 6),))
    slow = Segment(0, plain.source, plain.spans, 0, 11, (), ("oral_2", "speed_2"))
    audio = standard.speak(*(standard.prepare(part) for part in (plain, marked, slow)))
    assert len({samples.tobytes() for samples in audio}) == 3


def test_chinese_is_spoken(standard: Bench) -> None:
    utterance = standard.prepare(segment("你好世界", language=Language.ZH))
    assert utterance.expected_seconds == pytest.approx(0.9)
    assert len(standard.speak(utterance)[0]) > 0


def test_voice_after_a_sample(standard: Bench) -> None:
    codes = np.random.default_rng(3).integers(0, 625, (4, 40)).astype("<u2")
    voice = voice_of(material_pack(Sample(codes.tobytes(), 4, "good morning")))
    (audio,) = standard.speak(standard.prepare("hello there", voice))
    assert len(audio) > 0


def recording() -> bytes:
    noise = np.random.default_rng(4).standard_normal(48_000).astype(np.float32) * 0.1
    with StreamEncoder(AudioFormat.OPUS, 24_000, 24_000, stored=True) as encoder:
        encoder.encode(to_s16le(noise))
        return encoder.finish()


def test_voice_after_a_recording_is_heard_once(standard: Bench) -> None:
    voice = voice_of(material_pack(Recording(recording(), "good morning")))
    first, second = (standard.prepare("hello there", voice) for _ in range(2))
    assert first.payload.speaker is second.payload.speaker  # type: ignore[attr-defined]
    first.payload.speaker.result(timeout=60)  # type: ignore[attr-defined]
    once, again = standard.speak(first, second)
    np.testing.assert_array_equal(once, again)


def test_best_of_several_takes_is_spoken(chattts_tiny: Path) -> None:
    bench = Bench.load(chattts_tiny, Profile.HQ)
    (audio,) = bench.speak(bench.prepare("hello there"))
    (again,) = bench.speak(bench.prepare("hello there"))
    assert len(audio) > 0
    np.testing.assert_array_equal(audio, again)
    assert bench.engine.rows == 0
    bench.engine.close()


def test_takes_are_decoded_as_they_come(
    chattts_tiny: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench = Bench.load(chattts_tiny, Profile.HQ)
    decode, sizes = Vocoder.decode, list[int]()

    def counted(vocoder: Vocoder, windows: Sequence[Window]) -> list[Samples]:
        sizes.append(len(windows))
        return decode(vocoder, windows)

    monkeypatch.setattr(Vocoder, "decode", counted)
    bench.speak(bench.prepare("hello there, this is a test " * 4))
    assert len(sizes) > 3
    assert max(sizes) <= PROFILES[Profile.HQ].takes
    bench.engine.close()


def test_more_utterances_than_slots_wait_their_turn(standard: Bench) -> None:
    count = PROFILES[Profile.STANDARD].cache.slots + 3
    audio = standard.speak(*(standard.prepare("hello", seed=seed) for seed in range(count)))
    assert all(len(samples) for samples in audio)


@pytest.mark.parametrize("steps", [1, 2, 30])
def test_release_frees_everything_at_any_time(standard: Bench, steps: int) -> None:
    utterance = standard.prepare("hello there")
    for _ in range(steps):
        standard.engine.step([utterance])
    assert standard.engine.rows == 1
    standard.engine.release(utterance)
    assert standard.engine.rows == 0


@pytest.mark.parametrize(
    ("voice", "message"),
    [
        (VoiceSpec("anna", "chattts", (VoicePart("x"),), ("en",)), "has no speaker"),
        (voice_of(b"rubbish"), "not the payload"),
        (voice_of(material_pack(Embedding(bytes(6)))), "has 3 numbers, .* have 64 .*seed fits"),
        (voice_of(material_pack(Embedding(bytes(2 * HIDDEN)))), "all zeros"),
        (voice_of(material_pack(Sample(bytes(8), 2, "x"))), "codebooks"),
        (
            voice_of(embedding(1), material_pack(Sample(bytes(8), 4, "x"))),
            "only seeds and embeddings can be mixed",
        ),
    ],
)
def test_voice_that_is_none(standard: Bench, voice: VoiceSpec, message: str) -> None:
    with pytest.raises(VoiceUnavailable, match=message):
        standard.prepare("hello", voice)


def test_broken_recording_ends_its_own_request_alone(standard: Bench) -> None:
    broken = voice_of(material_pack(Recording(b"no audio", "good morning")))
    bad, good = standard.prepare("hello", broken), standard.prepare("hello")
    wait_heard(bad)
    with pytest.raises(VoiceUnavailable, match="cannot be used"):
        standard.speak(bad, good)
    assert len(standard.speak(good)[0]) > 0


@pytest.fixture
def deaf(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """No recording can be heard, whatever is in it."""

    def fail(encoder: RecordingEncoder, samples: Samples) -> None:
        raise RuntimeError("can't allocate memory for what the tenant said")

    with monkeypatch.context() as patch:
        patch.setattr(RecordingEncoder, "encode", fail)
        yield


def heard_as(name: str) -> VoiceSpec:
    return voice_of(material_pack(Recording(recording(), name)))


def wait_heard(utterance: Utterance) -> None:
    wait([utterance.payload.speaker], timeout=60)  # type: ignore[attr-defined]


@pytest.mark.usefixtures("deaf")
def test_hearing_that_fails_ends_its_own_request_alone(standard: Bench) -> None:
    bad, good = standard.prepare("hello", heard_as("once")), standard.prepare("hello")
    wait_heard(bad)
    results = {result.utterance_id: result for result in standard.engine.step([good, bad])}
    error = results[bad.utterance_id].error
    assert isinstance(error, SynthesisFailed)
    assert "RuntimeError" in error.message
    assert "memory" not in error.message
    assert results[good.utterance_id].error is None
    assert len(standard.speak(good)[0]) > 0


def test_an_utterance_that_waits_for_a_recording_is_left_out(
    chattts_tiny: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told, go = threading.Event(), threading.Event()
    encode = RecordingEncoder.encode

    def slow(encoder: RecordingEncoder, samples: Samples) -> object:
        assert go.wait(60)
        return encode(encoder, samples)

    monkeypatch.setattr(RecordingEncoder, "encode", slow)
    bench = Bench.load(chattts_tiny, Profile.STANDARD, notify=told.set)
    try:
        waits, speaks = bench.prepare("hello", heard_as("late")), bench.prepare("hello")
        assert bench.engine.step([waits]) == []
        (result,) = bench.engine.step([waits, speaks])
        assert result.utterance_id == speaks.utterance_id
        assert not told.is_set()
        go.set()
        assert told.wait(60)
        assert {result.utterance_id for result in bench.engine.step([waits, speaks])} == {
            waits.utterance_id,
            speaks.utterance_id,
        }
    finally:
        go.set()
        bench.engine.close()


def test_a_recording_that_could_not_be_heard_is_heard_again(
    standard: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    voice = heard_as("twice")
    with monkeypatch.context() as patch:
        patch.setattr(RecordingEncoder, "encode", lambda encoder, samples: 1 / 0)
        bad = standard.prepare("hello", voice)
        wait_heard(bad)
    good = standard.prepare("hello", voice)
    wait_heard(good)
    with pytest.raises(SynthesisFailed, match="ZeroDivisionError"):
        standard.speak(bad)
    assert len(standard.speak(good)[0]) > 0


def test_a_row_that_cannot_begin_ends_alone(
    standard: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    bad, good = (standard.prepare(text) for text in ("bad", "hello"))
    code_prompt = Vocabulary.code_prompt

    def prompt(vocabulary: Vocabulary, ids: tuple[int, ...], *rest: object, **more: bool) -> object:
        if ids == bad.payload.ids:  # type: ignore[attr-defined]
            raise KeyError("what the tenant said")
        return code_prompt(vocabulary, ids, *rest, **more)  # type: ignore[arg-type]  # as they came

    monkeypatch.setattr(Vocabulary, "code_prompt", prompt)
    results = {result.utterance_id: result for result in standard.engine.step([bad, good])}
    error = results[bad.utterance_id].error
    assert error is not None
    assert error.message == "beginning to speak failed: KeyError"
    assert len(standard.speak(good)[0]) > 0


def test_text_that_the_model_does_not_read(standard: Bench) -> None:
    with pytest.raises(NothingToSpeak):
        standard.prepare(segment("—…"))


def test_text_that_never_fits_is_refused(standard: Bench) -> None:
    with pytest.raises(EngineError, match="do not fit"):
        standard.speak(standard.prepare("many words " * 100))


@pytest.mark.parametrize("profile", list(Profile))
def test_an_engine_says_how_many_utterances_its_slots_hold(
    chattts_tiny: Path, profile: Profile
) -> None:
    bench = Bench.load(chattts_tiny, profile)
    settings = PROFILES[profile]
    assert bench.engine.traits.max_utterances == settings.cache.slots // settings.takes
    bench.engine.close()


def test_engine_is_known_by_name() -> None:
    assert engine_create("chattts").traits.step_seconds == pytest.approx(512 / 24_000)
