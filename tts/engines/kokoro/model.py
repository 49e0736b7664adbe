"""The two networks, from bytes, and the style packs that a voice is made of."""

import io
import json
from collections.abc import Mapping, Sequence
from typing import Protocol, cast

import numpy as np
import onnxruntime as ort
from numpy.typing import NDArray

from tts.engine.errors import SynthesisFailed, VersionUnavailable
from tts.engine.request import VoicePart
from tts.engines.base import Samples

MOST_PHONEMES = 510
"""What the model's 512 positions leave between two pads; packs have a style for each count.

Most segments have half of it: it is a bound, for those whose words are long to say."""
MOST_PHONEMES_DISTILLED = 400
"""hibari splits there as well: its net was trained on sentences."""

_PACK_SHAPE = (MOST_PHONEMES, 1, 256)
_Pack = NDArray[np.float32]


class RunOptions(Protocol):
    """What ends a running call, from another thread (onnxruntime's RunOptions)."""

    terminate: bool


class Vocabulary:
    """Phoneme characters to ids."""

    def __init__(self, content: bytes) -> None:
        """Read `{"vocab": {phoneme: id}}`; raises VersionUnavailable."""
        try:
            vocab = json.loads(content)["vocab"]
            self._ids = {str(phoneme): int(number) for phoneme, number in vocab.items()}
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise VersionUnavailable(f"shard 'vocab' is no phoneme vocabulary: {error}") from error

    def known(self, phonemes: str) -> str:
        """`phonemes` without what the model cannot speak."""
        return "".join(phoneme for phoneme in phonemes if phoneme in self._ids).strip()

    def ids(self, phonemes: str) -> NDArray[np.int64]:
        """The ids of known phonemes, shape (1, phonemes + 2): a pad at both ends."""
        return np.array([[0, *(self._ids[phoneme] for phoneme in phonemes), 0]], dtype=np.int64)


class StylePacks:
    """One pack a speaker: a style vector of 256 for each count of phonemes."""

    def __init__(self, content: bytes) -> None:
        """Read an npz of packs (510, 1, 256); raises VersionUnavailable."""
        self._packs = _read_packs(content)

    @property
    def speakers(self) -> frozenset[str]:
        """The names of all packs."""
        return frozenset(self._packs)

    def style(self, parts: Sequence[VoicePart], phonemes: int) -> NDArray[np.float32]:
        """The style (1, 256) for so many phonemes: the weighted mean of the parts'."""
        rows = [part.weight * self._packs[part.speaker][phonemes - 1] for part in parts]
        mean = np.sum(rows, axis=0, dtype=np.float32) / sum(part.weight for part in parts)
        return cast(NDArray[np.float32], mean.astype(np.float32))


class FullModel:
    """Kokoro-82M. One instance may be called by several threads at once."""

    def __init__(self, content: bytes) -> None:
        """Build the session (0.8 s); raises VersionUnavailable."""
        self._session = open_session("full", content)
        self._tokens, self._speed = self._inputs()

    def speak(
        self, ids: NDArray[np.int64], style: NDArray[np.float32], options: RunOptions
    ) -> Samples:
        """The audio of up to 510 phonemes; deterministic."""
        feed = {self._tokens: ids, "style": style, "speed": self._speed}
        return checked(self._session.run(None, feed, options)[0])

    def _inputs(self) -> tuple[str, NDArray[np.generic]]:
        """The name of the ids' input and a speed of 1 in the type that this export wants."""
        types = {item.name: item.type for item in self._session.get_inputs()}
        tokens = next((name for name in ("tokens", "input_ids") if name in types), None)
        if tokens is None or not {"style", "speed"} <= types.keys():
            raise VersionUnavailable(
                "shard 'full' is no Kokoro model: it must have the inputs tokens (or input_ids),"
                f" style and speed, and has {', '.join(types) or 'none'}"
            )
        whole = types["speed"].startswith("tensor(int")
        return tokens, np.ones(1, dtype=np.int32 if whole else np.float32)


class DistilledModel:
    """hibari's net for one English voice: a spectrum by ONNX, the waveform by hibari's own code."""

    def __init__(self, content: bytes) -> None:
        """Build the session (0.1 s); raises VersionUnavailable."""
        self._session = open_session("distilled", content)
        names = {item.name for item in self._session.get_inputs()}
        if names != {"ids", "speed"}:
            raise VersionUnavailable(
                "shard 'distilled' must have the inputs ids and speed,"
                f" and has {', '.join(sorted(names)) or 'none'}"
            )

    def speak(
        self, ids: NDArray[np.int64], noise: np.random.Generator, options: RunOptions
    ) -> Samples:
        """The audio of a sentence; `noise` is drawn from, so the order of calls matters."""
        from hibari import dsp

        feed = {"ids": ids, "speed": np.ones(1, dtype=np.float32)}
        spectrum = [item[0] for item in self._session.run(None, feed, options)]
        return checked(dsp.synth(*spectrum, noise))


def open_session(shard: str, content: bytes) -> ort.InferenceSession:
    """A session on one CPU thread; raises VersionUnavailable. Utterances are the parallelism."""
    options = ort.SessionOptions()
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    options.log_severity_level = 4
    try:
        return ort.InferenceSession(content, options, providers=["CPUExecutionProvider"])
    except Exception as error:
        reason = str(error).splitlines()[0][:200] if str(error) else type(error).__name__
        raise VersionUnavailable(f"shard {shard!r} is no usable ONNX model: {reason}") from error


def checked(audio: object) -> Samples:
    """Mono float32, all of it finite; raises SynthesisFailed."""
    samples = np.asarray(audio, dtype=np.float32).reshape(-1)
    if not np.isfinite(samples).all():
        raise SynthesisFailed("the model gave samples that are not numbers")
    return samples


def _read_packs(content: bytes) -> Mapping[str, _Pack]:
    try:
        with np.load(io.BytesIO(content), allow_pickle=False) as archive:
            packs = {name: archive[name].astype(np.float32) for name in archive.files}
    except (ValueError, OSError, EOFError, AttributeError, TypeError) as error:
        raise VersionUnavailable(f"shard 'voices' is no npz of style packs: {error}") from error
    for name, pack in packs.items():
        if pack.shape != _PACK_SHAPE or not np.isfinite(pack).all():
            raise VersionUnavailable(
                f"style pack {name!r} must be {_PACK_SHAPE} finite numbers, not {pack.shape}"
            )
    if not packs:
        raise VersionUnavailable("shard 'voices' has no style packs")
    return packs
