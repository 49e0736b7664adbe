"""Copies of a checkpoint with something wrong in them."""

import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from safetensors.numpy import load_file, save_file

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
