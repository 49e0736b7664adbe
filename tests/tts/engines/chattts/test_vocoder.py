"""The vocoder says what ChatTTS' own modules say, each stream as if it were alone."""

from pathlib import Path

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from tests.tts.engines.chattts.closeness import relative_error
from tests.tts.engines.chattts.originals import Originals, originals_load
from tests.tts.engines.chattts.vocoder_parts import Parts
from tts.engines.chattts import compute
from tts.engines.chattts.backend import Precision
from tts.engines.chattts.random_checkpoint import RandomCheckpoint, Size
from tts.engines.chattts.vocoder import Vocoder
from tts.engines.chattts.windows import Rows, StreamingDecoder, Window, WindowPlan

PLAN = WindowPlan((8, 16), 24, 8)


@pytest.fixture(scope="module")
def parts(chattts_tiny: Path) -> Parts:
    return Parts.read(chattts_tiny)


@pytest.fixture(scope="module")
def originals(chattts_tiny: Path, parts: Parts) -> Originals:
    return originals_load(chattts_tiny, parts.config)


def windows_of(rows: Rows) -> list[Window]:
    stream = StreamingDecoder(PLAN)
    stream.push(rows)
    return list(stream.finish())


@pytest.mark.parametrize("tokens", [1, 2, 3, 40, 200])
def test_hidden_states_as_the_original(parts: Parts, originals: Originals, tokens: int) -> None:
    hidden = parts.hidden(tokens)
    with torch.inference_mode():
        rows = torch.from_numpy(hidden).t()[None].contiguous()
        expected = originals.vocos.decode(originals.decoder(rows))[0].numpy()
    samples = parts.vocoder().whole(hidden)
    assert samples.dtype == np.float32
    assert samples.shape == expected.shape == (512 * tokens - 256,)
    np.testing.assert_allclose(samples, expected, atol=1e-5 * np.abs(expected).max(), rtol=0)


def test_codes_as_the_original(parts: Parts, originals: Originals) -> None:
    codes = parts.codes(60)
    quantizers = originals.dvae.vq_layer.quantizer.rvqs
    levels = torch.tensor(parts.config.vq_levels)
    for quantizer in quantizers:
        # As in the releases that the weights were made with; newer ones say levels ** -index.
        quantizer.scales = torch.stack([(levels - 1.0) ** -index for index in range(2)])
    with torch.inference_mode():
        rows = torch.from_numpy(codes).long().t()[None].contiguous()
        expected = originals.vocos.decode(originals.dvae(rows))[0].numpy()
    samples = parts.vocoder(codes=True).whole(codes)
    np.testing.assert_allclose(samples, expected, atol=1e-5 * np.abs(expected).max(), rtol=0)


def test_nothing_to_decode(parts: Parts) -> None:
    assert parts.vocoder().whole(parts.hidden(0)).shape == (0,)
    assert parts.vocoder().decode([]) == []


def test_batch_mates_change_no_bit(parts: Parts) -> None:
    vocoder = parts.vocoder()
    streams = [parts.hidden(tokens, seed=tokens) for tokens in (90, 31, 9, 140)]
    alone = [vocoder.decode(windows_of(rows)) for rows in streams]
    waiting = [windows_of(rows) for rows in streams]
    together: list[list[NDArray[np.float32]]] = [[] for _ in streams]
    while any(waiting):
        turn = [index for index, windows in enumerate(waiting) if windows]
        for index, samples in zip(
            turn, vocoder.decode([waiting[index].pop(0) for index in turn]), strict=True
        ):
            together[index].append(samples)
    for expected, chunks in zip(alone, together, strict=True):
        assert np.array_equal(np.concatenate(expected), np.concatenate(chunks))


def test_bfloat16_is_near(parts: Parts, monkeypatch: pytest.MonkeyPatch) -> None:
    hidden = parts.hidden(100)
    exact = parts.vocoder().whole(hidden)
    monkeypatch.setattr(compute, "bfloat16_pays", lambda device: True)
    error = relative_error(parts.vocoder(Precision.BF16).whole(hidden), exact)
    assert 1e-4 < error < 0.03


def test_bfloat16_is_not_emulated(parts: Parts, monkeypatch: pytest.MonkeyPatch) -> None:
    hidden = parts.hidden(20)
    monkeypatch.setattr(compute, "bfloat16_pays", lambda device: False)
    samples = parts.vocoder(Precision.BF16).whole(hidden)
    assert np.array_equal(samples, parts.vocoder().whole(hidden))


def test_int8_is_refused(parts: Parts) -> None:
    with pytest.raises(ValueError, match="not in int8"):
        parts.vocoder(Precision.INT8)


def test_threads_are_put_back(parts: Parts) -> None:
    before = torch.get_num_threads()
    parts.vocoder(threads=before + 1).whole(parts.hidden(10))
    assert torch.get_num_threads() == before


def test_versions_side_by_side(parts: Parts, tmp_path: Path) -> None:
    RandomCheckpoint(Size.TINY, seed=7).write(tmp_path)
    hidden = parts.hidden(20)
    first = parts.vocoder()
    expected = first.whole(hidden)
    other = Parts.read(tmp_path).vocoder().whole(hidden)
    assert relative_error(other, expected) > 0.5
    assert np.array_equal(first.whole(hidden), expected)


@pytest.mark.parametrize(
    ("codes", "rows", "message"),
    [
        (False, np.zeros((3, 63), np.float32), r"shape \(t, 64\) and of numbers, not \(3, 63\)"),
        (False, np.zeros((3, 64), np.int32), r"of numbers, not \(3, 64\) of int32"),
        (True, np.zeros((3, 4), np.float32), r"of codes, not \(3, 4\) of float32"),
        (True, np.zeros((3, 3), np.int32), r"shape \(t, 4\)"),
        (True, np.full((3, 4), 625, np.int32), "codes must be 0 to 624, not 625"),
        (True, np.full((3, 4), -1, np.int32), "codes must be 0 to 624, not -1"),
    ],
)
def test_bad_rows_are_refused(parts: Parts, codes: bool, rows: Rows, message: str) -> None:
    vocoder = parts.vocoder(codes=codes)
    with pytest.raises(ValueError, match=message):
        vocoder.whole(rows)


def test_windows_come_in_order(parts: Parts) -> None:
    vocoder = parts.vocoder()
    first, second, *_ = windows_of(parts.hidden(90))
    with pytest.raises(ValueError, match="the window at token 8 came when 0 was due"):
        vocoder.decode([second])
    samples = vocoder.decode([first, second])
    assert [len(chunk) for chunk in samples] == [8 * 512, 16 * 512]
    with pytest.raises(ValueError, match="at token 0 came when 24 was due"):
        vocoder.decode([first])


def test_bad_window_leaves_its_batch_undecoded(parts: Parts) -> None:
    vocoder: Vocoder = parts.vocoder()
    good, bad = windows_of(parts.hidden(90))[0], windows_of(parts.hidden(90)[:, :63])[0]
    with pytest.raises(ValueError, match="shape"):
        vocoder.decode([good, bad])
    assert good.past.position == 0
    assert len(vocoder.decode([good])[0]) == 8 * 512
