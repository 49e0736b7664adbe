"""The whole engine on a CUDA device: streams, and the same audio of a seed beside any others."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import torch

from tests.gpu.cuda import CUDA, needs_cuda

pytest.importorskip("pybase16384")
pytest.importorskip("tokenizers")
pytest.importorskip("msgspec")

from tests.tts.engines.chattts.speaking import Bench, segment
from tts.engine.request import Profile
from tts.engines.base import Device
from tts.engines.chattts.profile import profile_settings
from tts.engines.chattts.random_checkpoint import RandomCheckpoint, Size

pytestmark = [pytest.mark.gpu, needs_cuda]
DEVICE = Device("cuda:0", threads=1)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("chattts") / "tiny"
    RandomCheckpoint(Size.TINY).write(folder)
    return folder


@pytest.fixture(scope="module", params=list(Profile), ids=str)
def bench(folder: Path, request: pytest.FixtureRequest) -> Iterator[Bench]:
    bench = Bench.load(folder, request.param, DEVICE)
    yield bench
    bench.engine.close()


def test_text_is_streamed(bench: Bench) -> None:
    utterance = bench.prepare("hello there, this is a test")
    steps, results = bench.until_audio(utterance)
    settings = profile_settings(bench.profile, DEVICE)
    if settings.takes == 1:
        assert steps == settings.windows.first_tokens
        assert not results[0].finished
    bench.engine.release(utterance)
    assert bench.engine.rows == 0


def test_audio_of_a_seed_is_the_same_alone_and_beside_others(bench: Bench) -> None:
    (alone,) = bench.speak(bench.prepare("hello there", seed=5))
    others = [
        bench.prepare(f"some other words {'and more ' * (index % 4)}", seed=index)
        for index in range(20)
    ]
    beside, *_ = bench.speak(bench.prepare("hello there", seed=5), *others)
    np.testing.assert_array_equal(alone, beside)
    assert np.isfinite(alone).all()


def test_memory_returns_after_close(folder: Path) -> None:
    bench = Bench.load(folder, Profile.REALTIME, DEVICE)
    bench.speak(bench.prepare(segment("hello there")))
    held = torch.cuda.memory_allocated(CUDA)
    cache = bench.engine._backend.cache_bytes
    bench.engine.close()
    assert held - torch.cuda.memory_allocated(CUDA) >= cache
