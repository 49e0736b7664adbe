"""Rows of the GPT, or audio tokens, to samples: MelDecoder and Vocos, window by window."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
import torch
from torch import Tensor

from tts.engines.base import Device, Samples, Shards
from tts.engines.chattts import TOKEN_SAMPLES
from tts.engines.chattts.backend import Precision
from tts.engines.chattts.compute import torch_threads
from tts.engines.chattts.config import ModelConfig
from tts.engines.chattts.convnext import Past
from tts.engines.chattts.device_memory import memory_guard
from tts.engines.chattts.mel_decoder import TOKEN_FRAMES, MelDecoder
from tts.engines.chattts.projection import projections_create
from tts.engines.chattts.vocos import Vocos
from tts.engines.chattts.windows import Rows, StreamPast, Window

_GROUPED_TOKENS = 64
"""The longest window that is grouped: longer ones fill a device by themselves."""


@dataclass(frozen=True, slots=True)
class Vocoder:
    """Decodes windows of any number of streams, for one thread at a time.

    Every window is computed by itself, or, where `group` is more than 1, beside windows of its
    own shape, always `group` of them; so its samples are bit for bit the same whatever is
    decoded beside it. A group costs a CUDA device hardly more than a window. `bytes` is the memory
    of its weights. `threads` is how
    many torch may use meanwhile (its setting is the process', and is put back afterwards).
    """

    mel: MelDecoder
    vocos: Vocos
    threads: int
    group: int = 1
    bytes: int = 0

    @classmethod
    def load(
        cls,
        shards: Shards,
        model: ModelConfig,
        device: Device,
        precision: Precision,
        group: int = 1,
    ) -> Self:
        """For hidden states, or audio tokens where `model` has no Decoder.

        Raises VersionUnavailable.
        """
        place = torch.device(device.name)
        projections = projections_create(place, precision, device.threads)
        # One pool of threads where both are alike.
        exact = (
            projections
            if precision is Precision.FP32
            else projections_create(place, Precision.FP32, device.threads)
        )
        name = mel_shard(model)
        build = MelDecoder.from_dvae if model.decoder is None else MelDecoder.from_decoder
        mel = build(shards.read(name), model, device.name, projections)
        vocos = Vocos(shards.read("vocos"), model.vocos, device.name, projections, exact)
        weights = projections.bytes + (exact.bytes if exact is not projections else 0)
        return cls(mel, vocos, projections.torch_threads, group, weights)

    @property
    def takes_codes(self) -> bool:
        """Whether the rows of its windows are audio tokens, not hidden states."""
        return self.mel.quantizer is not None

    def decode(self, windows: Sequence[Window]) -> list[Samples]:
        """The samples of each window: 512 a settled token, 256 less at an utterance's end.

        Raises ValueError for rows of a wrong shape, codes out of range or a window out of its
        stream's order; nothing is computed then. DeviceMemoryExhausted: streams of windows that
        were not reached go on as if they had not been asked for.
        """
        self._check(windows)
        decoded: dict[int, Samples] = {}
        with (
            torch.inference_mode(),
            torch_threads(self.threads),
            memory_guard("the vocoder's windows"),
        ):
            for places in self._groups(windows):
                found = self._decoded([windows[place] for place in places])
                decoded.update(zip(places, found, strict=True))
        return [decoded[place] for place in range(len(windows))]

    def whole(self, rows: Rows) -> Samples:
        """All rows (t, n) of an utterance at once, as the original decodes: 512 t - 256 samples."""
        if not len(rows):
            return np.zeros(0, np.float32)
        return self.decode([Window(rows, 0, len(rows), last=True, past=StreamPast())])[0]

    def _groups(self, windows: Sequence[Window]) -> list[list[int]]:
        """Places of windows to compute together, each stream's in their order."""
        if self.group == 1:
            return [[place] for place in range(len(windows))]
        turns: dict[int, int] = {}
        shapes: dict[tuple[int, ...], list[int]] = {}
        for place, window in enumerate(windows):
            turn = turns[id(window.past)] = turns.get(id(window.past), -1) + 1
            started = turn > 0 or window.past.kept is not None
            shape = (turn, len(window.rows), window.settled, window.last, started)
            shapes.setdefault(shape, []).append(place)
        return [
            places[start : start + size]
            for (_, rows, *_), places in sorted(shapes.items(), key=lambda item: item[0])
            for size in (self.group if rows <= _GROUPED_TOKENS else 1,)
            for start in range(0, len(places), size)
        ]

    def _decoded(self, windows: Sequence[Window]) -> list[Samples]:
        """Windows of one shape; those that are missing to a group are computed for nobody."""
        first = windows[0]
        frames = first.settled * TOKEN_FRAMES
        grouped = self.group > 1 and len(first.rows) <= _GROUPED_TOKENS
        filled = [*windows, *[first] * (self.group - len(windows))] if grouped else list(windows)
        kept = [_kept(window) for window in filled]
        mel_past = Past(_joined([each.mel for each in kept], grouped), frames)
        audio_past = Past(_joined([each.audio for each in kept], grouped), frames)
        spectra = frames + self.vocos.overlap // 2
        tensors = [self._rows(window.rows) for window in filled]
        rows = torch.stack(tensors) if grouped else tensors[0]
        wanted = min(len(first.rows) * TOKEN_FRAMES, spectra + self.vocos.margin)
        mel = self.mel(rows, mel_past, wanted)
        samples = first.settled * TOKEN_SAMPLES
        if first.last:
            samples -= TOKEN_SAMPLES // TOKEN_FRAMES
        audio = self.vocos(mel, audio_past, min(mel.shape[-2], spectra), samples).cpu()
        for index, window in enumerate(windows):
            window.past.position += window.settled
            left = _Kept(_taken(mel_past, index, grouped), _taken(audio_past, index, grouped))
            window.past.kept = None if window.last else left
        return list(audio.numpy()[: len(windows)]) if grouped else [audio.numpy()]

    def _rows(self, rows: Rows) -> Tensor:
        quantizer = self.mel.quantizer
        # Torch hardly computes with the 16 bits without a sign that codes come in.
        numbers = rows if quantizer is None else rows.astype(np.int64)
        tensor = torch.from_numpy(np.ascontiguousarray(numbers)).to(self.mel.device)
        return tensor if quantizer is None else quantizer.vectors(tensor)

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


def mel_shard(model: ModelConfig) -> str:
    """The shard that the mel frames of `model` come from."""
    return "dvae" if model.decoder is None else "decoder"


@dataclass(frozen=True, slots=True)
class _Kept:
    """Remembered frames of a stream: of the MelDecoder's convolutions, and of Vocos'."""

    mel: list[Tensor] | None
    audio: list[Tensor] | None


def _kept(window: Window) -> _Kept:
    kept = window.past.kept
    return kept if isinstance(kept, _Kept) else _Kept(None, None)


def _joined(kept: Sequence[list[Tensor] | None], grouped: bool) -> list[Tensor] | None:
    """What streams of one group remember, stacked; all of them have begun, or none has."""
    begun = [each for each in kept if each is not None]
    if not begun:
        return None
    return [torch.stack(each) for each in zip(*begun, strict=True)] if grouped else begun[0]


def _taken(past: Past, index: int, grouped: bool) -> list[Tensor]:
    """A stream's own part, which keeps nothing of the others in memory."""
    return [each[index].clone() for each in past.left] if grouped else past.left
