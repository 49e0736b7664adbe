"""The vocoder on a CUDA device, at the release's widths: a stream's bits, whatever is beside it."""

from collections.abc import Sequence

import numpy as np
import pytest

from tests.gpu.cuda import needs_cuda

pytest.importorskip("pybase16384")
pytest.importorskip("tokenizers")
pytest.importorskip("msgspec")

from tts.engine.request import Profile
from tts.engines.base import Device
from tts.engines.chattts.backend import Floats, Precision
from tts.engines.chattts.manifest import ChatTtsManifest, chattts_manifest
from tts.engines.chattts.profile import profile_settings
from tts.engines.chattts.random_checkpoint import RandomCheckpoint, Size
from tts.engines.chattts.vocoder import Vocoder
from tts.engines.chattts.windows import StreamPast, Window
from tts.engines.shards import LocalShards

pytestmark = [pytest.mark.gpu, needs_cuda]
DEVICE = Device("cuda:0", threads=1)
SETTINGS = profile_settings(Profile.REALTIME, DEVICE)


@pytest.fixture(scope="module")
def release(tmp_path_factory: pytest.TempPathFactory) -> ChatTtsManifest:
    """Libraries choose kernels by widths: these are those that real weights have."""
    folder = tmp_path_factory.mktemp("chattts") / "full"
    RandomCheckpoint(Size.FULL).write(folder)
    return chattts_manifest(folder)


def windows_of(rows: Sequence[Floats], settled: int) -> list[Window]:
    return [Window(each, 0, settled, last=False, past=StreamPast()) for each in rows]


@pytest.mark.parametrize("precision", [Precision.FP32, Precision.BF16], ids=str)
def test_a_stream_is_the_same_in_every_place_of_a_group(
    release: ChatTtsManifest, precision: Precision
) -> None:
    group = SETTINGS.vocoder_group
    vocoder = Vocoder.load(LocalShards(release.shards), release.model, DEVICE, precision, group)
    random = np.random.default_rng(0)
    plan = SETTINGS.windows
    for settled in {plan.size(index) for index in range(len(plan.first) + 1)}:
        shape = (group + 1, settled + plan.ahead, release.model.gpt.hidden)
        rows = list(random.standard_normal(shape, np.float32))
        alone = [vocoder.decode(windows_of([each], settled))[0] for each in rows]
        for order in (range(group + 1), random.permutation(group + 1)):
            together = vocoder.decode(windows_of([rows[index] for index in order], settled))
            for index, samples in zip(order, together, strict=True):
                np.testing.assert_array_equal(samples, alone[index])
