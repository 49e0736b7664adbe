"""Windows computed in groups of one shape: each stream's samples are its own all the same."""

from pathlib import Path

import numpy as np
import pytest
import torch

from tests.tts.engines.chattts.closeness import relative_error
from tests.tts.engines.chattts.vocoder_parts import Parts
from tts.engine.errors import SynthesisFailed
from tts.engines.base import Samples
from tts.engines.chattts.device_memory import DeviceMemoryExhausted
from tts.engines.chattts.vocoder import Vocoder
from tts.engines.chattts.windows import Rows, StreamingDecoder, Window, WindowPlan

PLAN = WindowPlan((8, 16), 24, 8)
TOKENS = (90, 31, 9, 90, 140, 90)


@pytest.fixture(scope="module")
def parts(chattts_tiny: Path) -> Parts:
    torch.set_num_threads(1)
    return Parts.read(chattts_tiny)


def windows_of(rows: Rows, plan: WindowPlan = PLAN) -> list[Window]:
    stream = StreamingDecoder(plan)
    stream.push(rows)
    return list(stream.finish())


def alone(vocoder: Vocoder, rows: Rows, plan: WindowPlan = PLAN) -> Samples:
    return np.concatenate([vocoder.decode([window])[0] for window in windows_of(rows, plan)])


def together(vocoder: Vocoder, streams: list[Rows]) -> list[Samples]:
    """All windows of all streams in one call, the streams' taking turns."""
    waiting = [windows_of(rows) for rows in streams]
    places: list[int] = []
    windows: list[Window] = []
    while any(waiting):
        for index, left in enumerate(waiting):
            if left:
                places.append(index)
                windows.append(left.pop(0))
    decoded = vocoder.decode(windows)
    return [
        np.concatenate(
            [each for place, each in zip(places, decoded, strict=True) if place == index]
        )
        for index in range(len(streams))
    ]


@pytest.mark.parametrize("codes", [False, True])
def test_batch_mates_change_no_bit(parts: Parts, codes: bool) -> None:
    vocoder = parts.vocoder(codes=codes, group=4)
    make = parts.codes if codes else parts.hidden
    streams: list[Rows] = [make(tokens, seed) for seed, tokens in enumerate(TOKENS)]
    for rows, found in zip(streams, together(vocoder, streams), strict=True):
        np.testing.assert_array_equal(found, alone(vocoder, rows))


def test_a_stream_that_begins_beside_one_that_goes_on(parts: Parts) -> None:
    """Their windows have one shape, and the first has nothing before it."""
    vocoder, plan = parts.vocoder(group=4), WindowPlan((), 8, 8)
    goes_on, begins = parts.hidden(40, 1), parts.hidden(40, 2)
    (first, later, *_), (beside, *_) = windows_of(goes_on, plan), windows_of(begins, plan)
    vocoder.decode([first])
    assert later.rows.shape == beside.rows.shape
    found = vocoder.decode([later, beside])
    for rows, samples, part in (
        (goes_on, found[0], slice(8 * 512, 16 * 512)),
        (begins, found[1], slice(8 * 512)),
    ):
        np.testing.assert_array_equal(samples, alone(vocoder, rows, plan)[part])


def test_groups_compute_what_single_windows_do(parts: Parts) -> None:
    rows = parts.hidden(200)
    single, grouped = (alone(parts.vocoder(group=group), rows) for group in (1, 8))
    assert relative_error(grouped, single) < 1e-5


def test_a_long_window_is_computed_by_itself(parts: Parts) -> None:
    rows = parts.hidden(90)
    single, grouped = (parts.vocoder(group=group).whole(rows) for group in (1, 8))
    np.testing.assert_array_equal(grouped, single)


def test_a_stream_keeps_nothing_of_others(parts: Parts) -> None:
    windows = [windows_of(parts.hidden(40, seed))[0] for seed in range(3)]
    parts.vocoder(group=4).decode(windows)
    kept = windows[0].past.kept
    for each in (*kept.mel, *kept.audio):  # type: ignore[attr-defined]
        assert each.untyped_storage().nbytes() == each.nbytes


def test_running_out_of_memory_is_told_and_can_be_tried_again(
    parts: Parts, monkeypatch: pytest.MonkeyPatch
) -> None:
    vocoder = parts.vocoder(group=4)
    first = windows_of(parts.hidden(40))[0]
    with monkeypatch.context() as patched:
        patched.setattr(type(vocoder.vocos), "__call__", _exhausted)
        with pytest.raises(DeviceMemoryExhausted, match="vocoder") as caught:
            vocoder.decode([first])
    assert isinstance(caught.value, SynthesisFailed)
    assert len(vocoder.decode([first])[0]) == 8 * 512


def _exhausted(*arguments: object) -> None:
    raise torch.OutOfMemoryError("CUDA out of memory")
