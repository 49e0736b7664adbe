"""ConvNeXt blocks: torch's and ours agree; a frame of ours depends on none but its neighbours."""

import pytest
import torch
from torch import Tensor

from tests.tts.engines.chattts.vocoder_parts import native_projections
from tts.engines.chattts.backend import Precision
from tts.engines.chattts.block import BlockWeights
from tts.engines.chattts.projection import TorchProjections

ERRORS = {Precision.FP32: 1e-6, Precision.BF16: 5e-3}
"""Of the root mean square of what a block adds."""


def weights(channels: int, *, width: int = 7, dilation: int = 2, hidden: int = 40) -> BlockWeights:
    random = torch.Generator().manual_seed(channels)

    def values(*shape: int, scale: float = 1.0) -> Tensor:
        return torch.randn(*shape, generator=random) * scale

    return BlockWeights(
        values(width, channels),
        values(channels),
        values(hidden, channels, scale=2.0 / channels**0.5),
        values(hidden),
        values(channels, hidden, scale=1.0 / hidden**0.5),
        values(channels),
        dilation,
    )


def frames(count: int, channels: int) -> Tensor:
    return torch.randn(count, channels, generator=torch.Generator().manual_seed(count))


@pytest.mark.parametrize("precision", list(ERRORS))
@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize(
    ("channels", "hidden"), [(16, 64), (24, 40), (37, 90), (512, 1536), (600, 16)]
)
def test_a_block_is_torchs(precision: Precision, threads: int, channels: int, hidden: int) -> None:
    block = weights(channels, hidden=hidden)
    step = native_projections(precision, threads).add_block(block)
    exact = TorchProjections(torch.device("cpu"), Precision.FP32, 1).add_block(block)
    for count in (1, 7, 64, 65, 130):
        given = frames(count + 2 * block.margin, channels)
        for wanted in {count, count // 2 + 1}:
            through = given[block.margin : block.margin + wanted]
            expected = exact(given, wanted) - through
            found = step(given, wanted) - through
            error = (found - expected).square().mean() / expected.square().mean()
            assert error.sqrt() < ERRORS[precision]


def test_a_frame_depends_on_its_neighbours_alone() -> None:
    block = weights(48)
    step = native_projections(Precision.BF16, 2).add_block(block)
    given = frames(100 + 2 * block.margin, 48)
    whole = step(given, 100)
    for start, count in ((0, 1), (3, 40), (63, 2), (99, 1)):
        part = given[start : start + count + 2 * block.margin]
        assert torch.equal(step(part, count), whole[start : start + count])


def test_windows_may_be_stacked() -> None:
    block = weights(20)
    step = native_projections(Precision.FP32).add_block(block)
    windows = [frames(count + 2 * block.margin, 20) for count in (9, 9)]
    together = step(torch.stack(windows), 5)
    for window, found in zip(windows, together, strict=True):
        assert torch.equal(step(window, 5), found)


def test_what_does_not_fit_is_refused() -> None:
    projections = native_projections(Precision.FP32)
    block = weights(20)
    step = projections.add_block(block)
    with pytest.raises(ValueError, match="frames and outputs do not match"):
        step(frames(8 + 2 * block.margin, 20), 9)
    with pytest.raises(ValueError, match="frames and outputs do not match"):
        step(frames(2 * block.margin - 1, 20), 1)
    with pytest.raises(ValueError, match="odd width"):
        projections.add_block(weights(20, width=4))


def test_what_is_not_a_number_stays_so() -> None:
    block = weights(20)
    step = native_projections(Precision.FP32).add_block(block)
    given = frames(30 + 2 * block.margin, 20)
    given[block.margin + 15, 3] = torch.nan
    assert torch.isnan(step(given, 30)[15]).all()


def test_a_frame_whose_squares_overflow_is_not_a_quiet_one() -> None:
    block = weights(20)
    step = native_projections(Precision.FP32).add_block(block)
    given = frames(30 + 2 * block.margin, 20)
    given[block.margin + 15] *= 1e25
    assert not torch.isfinite(step(given, 30)[15]).any()
