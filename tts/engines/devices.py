"""Devices by name: "cpu", "cuda" (the first one), "cuda:0", …; and the CPU's cores.

VersionUnavailable
└── DeviceUnavailable  the device that was asked for is not here
"""

import os
import re
from typing import TYPE_CHECKING

from tts.engine.errors import VersionUnavailable

if TYPE_CHECKING:
    import torch

_CUDA = re.compile(r"cuda(?::(\d{1,3}))?")
CPU = "cpu"


class DeviceUnavailable(VersionUnavailable):
    """The device that was asked for is not here."""


def cores() -> int:
    """The cores this process may use (all of the machine's where the system cannot say)."""
    affinity = getattr(os, "sched_getaffinity", None)
    return len(affinity(0)) if affinity is not None else os.cpu_count() or 1


def device_name(text: str) -> str:
    """The full name of a device; raises ValueError for what is none. Looks at no device."""
    found = _CUDA.fullmatch(text)
    if found is not None:
        return f"cuda:{int(found[1] or 0)}"
    if text == CPU:
        return CPU
    raise ValueError(f'a device is "cpu", "cuda" or "cuda:N", not {text[:40]!r}')


def device_find(text: str) -> "torch.device":
    """The device of that name; raises DeviceUnavailable saying what there is instead."""
    import torch

    try:
        name = device_name(text)
    except ValueError as error:
        raise DeviceUnavailable(str(error)) from error
    device = torch.device(name)
    if device.type == CPU:
        return device
    if torch.version.cuda is None:
        raise DeviceUnavailable(
            f"{name} was asked for, but torch {torch.__version__} is a build without CUDA"
        )
    count = torch.cuda.device_count() if torch.cuda.is_available() else 0
    if device.index >= count:
        there = f"{count} CUDA device{'s' * (count != 1)}" if count else "no usable CUDA device"
        raise DeviceUnavailable(f"{name} was asked for, but there is {there} here")
    return device


def device_uuid(text: str) -> str:
    """What the driver calls the CUDA device of that name; raises DeviceUnavailable."""
    import torch

    return str(torch.cuda.get_device_properties(device_find(text)).uuid)
