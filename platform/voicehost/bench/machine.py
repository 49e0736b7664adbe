"""What a benchmark ran on, so that its numbers can be compared with another's."""

import os
import platform
import re
from collections.abc import Iterable
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Self

from tts.engines.devices import cores

PACKAGES = (
    "voicehost",
    "daphne",
    "channels",
    "Django",
    "redis",
    "onnxruntime",
    "numpy",
    "torch",
    "ChatTTS",
)


@dataclass(frozen=True, slots=True)
class Machine:
    """`cores` are those this process may use; `memory_gib` is all there is; `load` the
    one-minute load average before the run."""

    processor: str
    cores: int
    memory_gib: float
    system: str
    python: str
    load: float
    packages: dict[str, str]

    @classmethod
    def read(cls) -> Self:
        """Look at this machine."""
        return cls(
            processor=_processor(),
            cores=cores(),
            memory_gib=round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30, 1),
            system=f"{platform.system()} {platform.release()}",
            python=platform.python_version(),
            load=round(os.getloadavg()[0], 2),
            packages=_versions(PACKAGES),
        )

    def __str__(self) -> str:
        """One line for the head of a table."""
        return (
            f"{self.processor}, {self.cores} cores, {self.memory_gib:g} GiB, {self.system}, "
            f"Python {self.python}, load before {self.load:g}"
        )


def _processor() -> str:
    try:
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8")
    except OSError:
        text = ""
    match = re.search(r"^model name\s*:\s*(.+)$", text, re.MULTILINE)
    return match[1].strip() if match else platform.processor() or platform.machine()


def _versions(names: Iterable[str]) -> dict[str, str]:
    found = {}
    for name in names:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found
