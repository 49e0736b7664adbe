"""Rows of the GPT, or audio tokens, to samples: MelDecoder and Vocos, window by window."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from tts.engines.base import Samples
from tts.engines.chattts import TOKEN_SAMPLES
from tts.engines.chattts.compute import torch_threads
from tts.engines.chattts.convnext import Past
from tts.engines.chattts.mel_decoder import TOKEN_FRAMES, MelDecoder
from tts.engines.chattts.vocos import Vocos
from tts.engines.chattts.windows import Rows, StreamPast, Window


@dataclass(frozen=True, slots=True)
class Vocoder:
    """Decodes windows of any number of streams, for one thread at a time.

    Every window is computed by itself, in a shape that its plan decides, so its samples are
    bit for bit the same whatever is decoded beside it. `threads` is how many torch may use
    meanwhile (its setting is the process', and is put back afterwards).
    """

    mel: MelDecoder
    vocos: Vocos
    threads: int

    def decode(self, windows: Sequence[Window]) -> list[Samples]:
        """The samples of each window: 512 a settled token, 256 less at an utterance's end.

        Raises ValueError for rows of a wrong shape, codes out of range or a window out of its
        stream's order; nothing is computed then.
        """
        self._check(windows)
        with torch.inference_mode(), torch_threads(self.threads):
            return [self._decoded(window) for window in windows]

    def whole(self, rows: Rows) -> Samples:
        """All rows (t, n) of an utterance at once, as the original decodes: 512 t - 256 samples."""
        if not len(rows):
            return np.zeros(0, np.float32)
        return self.decode([Window(rows, 0, len(rows), last=True, past=StreamPast())])[0]

    def _decoded(self, window: Window) -> Samples:
        frames, stream = window.settled * TOKEN_FRAMES, window.past
        kept = stream.kept if isinstance(stream.kept, _Kept) else _Kept(None, None)
        mel_past, audio_past = Past(kept.mel, frames), Past(kept.audio, frames)
        spectra = frames + self.vocos.overlap // 2
        rows = self._rows(window.rows)
        mel = self.mel(rows, mel_past, min(len(rows) * TOKEN_FRAMES, spectra + self.vocos.margin))
        samples = window.settled * TOKEN_SAMPLES
        if window.last:
            samples -= TOKEN_SAMPLES // TOKEN_FRAMES
        audio = self.vocos(mel, audio_past, min(len(mel), spectra), samples)
        stream.position += window.settled
        stream.kept = None if window.last else _Kept(mel_past.left, audio_past.left)
        result: Samples = audio.cpu().numpy()
        return result

    def _rows(self, rows: Rows) -> Tensor:
        tensor = torch.from_numpy(np.ascontiguousarray(rows)).to(self.mel.device)
        return tensor if self.mel.quantizer is None else self.mel.quantizer.vectors(tensor)

    def _check(self, windows: Sequence[Window]) -> None:
        positions: dict[int, int] = {}
        for window in windows:
            due = positions.get(id(window.past), window.past.position)
            if window.start != due:
                raise ValueError(f"the window at token {window.start} came when {due} was due")
            positions[id(window.past)] = due + window.settled
            spare = len(window.rows) - window.settled
            if window.settled < 1 or spare < 0 or window.last != (spare == 0):
                raise ValueError(
                    f"a window of {len(window.rows)} rows cannot settle {window.settled}"
                    f" (last: {window.last})"
                )
            self._check_rows(window.rows)

    def _check_rows(self, rows: Rows) -> None:
        quantizer = self.mel.quantizer
        width, kind = (self.mel.row_size, "f") if quantizer is None else (quantizer.width, "iu")
        if rows.ndim != 2 or rows.shape[1] != width or rows.dtype.kind not in kind:
            raise ValueError(
                f"rows must be of shape (t, {width}) and of {'numbers' if kind == 'f' else 'codes'}"
                f", not {rows.shape} of {rows.dtype}"
            )
        if quantizer is not None and not 0 <= rows.min() <= rows.max() < quantizer.codes:
            raise ValueError(f"codes must be 0 to {quantizer.codes - 1}, not {rows.max()}")


@dataclass(frozen=True, slots=True)
class _Kept:
    """Remembered frames of a stream: of the MelDecoder's convolutions, and of Vocos'."""

    mel: list[Tensor] | None
    audio: list[Tensor] | None
