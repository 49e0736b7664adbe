"""A platform that was started with a folder of ChatTTS weights, as users start it."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.e2e.platform import Platform, platform_running
from tests.e2e.without_voices import python_path_without_voices
from tts.engines.chattts.random_checkpoint import Ends, RandomCheckpoint, Size


@contextmanager
def chattts_running(folder: Path) -> Iterator[Platform]:
    """It speaks with tiny random weights; all of it is in `folder`."""
    RandomCheckpoint(Size.TINY, ends=Ends.LIKELY).write(folder / "weights")
    with platform_running(
        folder / "var",
        CHATTTS=str(folder / "weights"),
        OMP_NUM_THREADS="1",
        PYTHONPATH=python_path_without_voices(folder / "python"),
    ) as platform:
        yield platform
