"""Copies of a checkpoint with something wrong in them."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from safetensors.numpy import load_file, save_file

from tts.engines.chattts import layout

Tensors = dict[str, NDArray[np.float32]]


def copied(checkpoint: Path, folder: Path) -> Path:
    """A copy of `checkpoint` in `folder`; returns its asset folder."""
    shutil.copytree(checkpoint, folder)
    return folder / "asset"


def rewrite(path: Path, change: Callable[[Tensors], None]) -> None:
    """Change the tensors of a safetensors file."""
    tensors = load_file(path)
    change(tensors)
    save_file(tensors, path)


def settings_change(asset: Path, **settings: object) -> None:
    """Change what gpt/config.json says."""
    path = asset / layout.GPT_CONFIG
    path.write_text(json.dumps({**json.loads(path.read_text()), **settings}))
