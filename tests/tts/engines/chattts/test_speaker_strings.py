"""Speakers are read and written as ChatTTS does; what is no speaker is refused with a reason."""

import numpy as np
import pybase16384
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from tests.tts.engines.chattts.speaker_strings import embedding_encode, sample_encode, wrapped
from tts.engine.errors import VersionUnavailable
from tts.engines.chattts import EOS, speaker
from tts.engines.chattts.audio_library import audio_library
from tts.engines.chattts.speaker import SpeakerInvalid, SpeakerStatistics

HIDDEN, BOOKS = 64, 4

with audio_library():
    from ChatTTS.model.speaker import Speaker


def _statistics(hidden: int = HIDDEN) -> SpeakerStatistics:
    values = np.concatenate([np.linspace(0.5, 2, hidden), np.linspace(-1, 1, hidden)])
    text = pybase16384.encode_to_string(values.astype("<f2").tobytes())
    return SpeakerStatistics.read(text, hidden)


def _codes(tokens: int = 50) -> np.ndarray[tuple[int, int], np.dtype[np.int64]]:
    return np.random.default_rng(5).integers(0, EOS, (BOOKS, tokens))


def test_embedding_as_the_original() -> None:
    vector = _statistics().random(7)
    text = embedding_encode(vector)
    assert text == Speaker._encode(torch.from_numpy(vector))
    assert np.array_equal(speaker.embedding_decode(text, HIDDEN), Speaker._decode(text))
    assert np.array_equal(speaker.embedding_read(speaker.embedding_bytes(vector), HIDDEN), vector)


def test_sample_as_the_original() -> None:
    codes = _codes()
    text = sample_encode(codes)
    assert text == Speaker.encode_prompt(torch.from_numpy(codes))
    assert np.array_equal(speaker.sample_decode(text, BOOKS), Speaker.decode_prompt(text).numpy())
    assert np.array_equal(speaker.sample_read(speaker.sample_bytes(codes), 4, BOOKS), codes)


def test_normalised_as_the_original() -> None:
    vector = _statistics().random(3)
    theirs = torch.nn.functional.normalize(torch.from_numpy(vector), dim=0).numpy()
    np.testing.assert_allclose(speaker.speaker_normalise(vector), theirs, atol=1e-7)


def test_seed_is_a_speaker_for_good() -> None:
    statistics = _statistics()
    assert np.array_equal(statistics.random(1), statistics.random(1))
    assert not np.array_equal(statistics.random(1), statistics.random(2))
    # PCG64's first normals of seed 0, whichever machine draws them.
    first = (statistics.random(0) - statistics.mean)[:3] / statistics.deviation[:3]
    np.testing.assert_allclose(first, [0.12573, -0.13210, 0.64042], atol=2e-3)


def test_mix_lies_between() -> None:
    a, b = _statistics().random(1), _statistics().random(2)
    for weight in (0.0, 0.25, 1.0):
        mixed = speaker.speaker_mix([a, b], [weight, 1 - weight])
        assert np.linalg.norm(mixed) == pytest.approx(1, abs=1e-6)
    np.testing.assert_allclose(mixed, speaker.speaker_normalise(a), atol=1e-6)
    even = speaker.speaker_mix([a, 5 * b], [1, 1])
    na, nb = speaker.speaker_normalise(a), speaker.speaker_normalise(b)
    assert even @ na == pytest.approx(even @ nb, abs=1e-6)
    with pytest.raises(SpeakerInvalid, match="cancel each other out"):
        speaker.speaker_mix([a, -a], [1, 1])


EMBEDDING = embedding_encode(_statistics().random(1))
SAMPLE = sample_encode(_codes())


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "is empty"),
        ("hello", "character 'h' at position 0 is not of base16384"),
        (EMBEDDING[:40] + " " + EMBEDDING[40:], "character ' ' at position 40"),
        (EMBEDDING[:-2], "is cut off"),
        (EMBEDDING[:16], "is cut off"),
        (EMBEDDING[:4] * 9, "cannot be decompressed|is cut off"),
        (EMBEDDING + EMBEDDING, "is not of base16384|followed by something else|is cut off"),
        ("一" * 40_000, "has 40,000 characters, at most 32,768 may be"),
        (SAMPLE, "this is a spk_smp .* not a spk_emb"),
        (wrapped(b"\x00\x3c" * 65), "has 65 numbers, .* version have 64"),
        (wrapped(b""), "has 0 numbers"),
        (wrapped(b"\x00\x7e" * 64), "has numbers that are not finite"),
        (wrapped(b"\x00\x7c" * 64), "has numbers that are not finite"),
        (wrapped(bytes(128)), "is all zeros"),
        (wrapped(bytes(10_000_000)), "decompresses to more than 65,536 bytes"),
    ],
)
def test_what_is_no_embedding(text: str, said: str) -> None:
    with pytest.raises(SpeakerInvalid, match=f"^spk_emb: .*({said})"):
        speaker.embedding_decode(text, HIDDEN)


def _header(rows: int, tokens: int) -> bytes:
    return np.array([rows, tokens], "<u2").tobytes()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (EMBEDDING, "this is a spk_emb .* not a spk_smp"),
        (SAMPLE[:-2], "is cut off"),
        (wrapped(bytes(80), _header(4, 11)), "says 4 x 11 tokens, 80 bytes are there"),
        (wrapped(bytes(80), _header(65_535, 65_535)), "says 65535 x 65535 tokens"),
        (wrapped(bytes(80), _header(2, 20)), "has 2 codebooks, this model has 4"),
        (wrapped(b"", _header(4, 0)), "0 bytes are not 4 rows"),
        (wrapped(b"\x71\x02" * 40, _header(4, 10)), "has token 625; audio tokens are 0 to 624"),
        (wrapped(bytes(24_000), _header(4, 3_000)), "has 3000 tokens, at most 2048"),
        (wrapped(bytes(50_000_000), _header(4, 10)), "decompresses to more than 65,536"),
        (pybase16384.encode_to_string(b"ab"), "is too short to hold a shape"),
    ],
)
def test_what_is_no_sample(text: str, said: str) -> None:
    with pytest.raises(SpeakerInvalid, match=f"^spk_smp: .*({said})"):
        speaker.sample_decode(text, BOOKS)


@given(st.text(st.characters(min_codepoint=0x3D00, max_codepoint=0x8E10), max_size=60))
def test_any_text_is_read_or_refused(text: str) -> None:
    for decode, size in ((speaker.embedding_decode, HIDDEN), (speaker.sample_decode, BOOKS)):
        with pytest.raises(SpeakerInvalid):
            decode(text, size)


def test_statistics_of_another_model() -> None:
    text = str(pybase16384.encode_to_string(bytes(4 * HIDDEN)))
    with pytest.raises(VersionUnavailable, match="must be 1536 finite numbers, not 128"):
        SpeakerStatistics.read(text, 768)
    with pytest.raises(VersionUnavailable, match="cannot be read: spk_stat: character"):
        SpeakerStatistics.read("nonsense", HIDDEN)


def test_vectors_that_float16_cannot_hold() -> None:
    for value in (1e6, np.nan, np.inf):
        with pytest.raises(SpeakerInvalid, match="float16 cannot hold"):
            speaker.embedding_bytes(np.full(HIDDEN, value, np.float32))
