"""A voice that is a seed is the speaker which the version's own statistics give it."""

from collections.abc import Iterator

import msgspec
import numpy as np
import pytest

from tests.tts.engines.chattts.speaking import HIDDEN, embedding, voice_of
from tts.engine.errors import VoiceUnavailable
from tts.engines.base import Samples
from tts.engines.chattts.casting import Casting
from tts.engines.chattts.generation import Codes
from tts.engines.chattts.speaker import SpeakerStatistics, embedding_bytes
from tts.engines.chattts.voice import Embedding, Seed, material_pack

STATISTICS = SpeakerStatistics(
    np.linspace(0.5, 2, HIDDEN, dtype=np.float32), np.linspace(-1, 1, HIDDEN, dtype=np.float32)
)
BIGGEST = 2**53 - 1


def _never(samples: Samples) -> Codes:
    raise AssertionError("there is no recording")


@pytest.fixture
def casting() -> Iterator[Casting]:
    made = Casting(STATISTICS, 4, _never, lambda: None)
    yield made
    made.close()


def _drawn(seed: int) -> bytes:
    return material_pack(Embedding(embedding_bytes(STATISTICS.random(seed))))


@pytest.mark.parametrize("seed", [0, 1, BIGGEST])
def test_seed_is_the_embedding_that_it_draws(casting: Casting, seed: int) -> None:
    found = casting.cast(voice_of(material_pack(Seed(seed)))).result()
    drawn = casting.cast(voice_of(_drawn(seed))).result()
    assert found.vector is not None
    assert drawn.vector is not None
    np.testing.assert_array_equal(found.vector, drawn.vector)


def test_seeds_mix_with_embeddings(casting: Casting) -> None:
    def mixed(first: bytes) -> object:
        voice = voice_of(first, embedding(1), weights=(2.0, 1.0))
        return casting.cast(voice).result().vector

    np.testing.assert_array_equal(mixed(material_pack(Seed(7))), mixed(_drawn(7)))


def test_statistics_that_draw_no_speaker_are_told() -> None:
    zeros = np.zeros(HIDDEN, np.float32)
    casting = Casting(SpeakerStatistics(zeros, zeros), 4, _never, lambda: None)
    with pytest.raises(VoiceUnavailable, match=r"'anna'.* all zeros"):
        casting.cast(voice_of(material_pack(Seed(1))))
    casting.close()


def test_seed_that_is_none(casting: Casting) -> None:
    payload = msgspec.msgpack.encode({"type": "seed", "number": -1})
    with pytest.raises(VoiceUnavailable, match="not the payload"):
        casting.cast(voice_of(payload))
