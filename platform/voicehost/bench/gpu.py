"""How busy a CUDA device is while something runs, as its driver's own tool says."""

import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from statistics import fmean

from tts.engines.devices import device_uuid

TOOL = "nvidia-smi"
_QUERY = ("--query-gpu=utilization.gpu", "--format=csv,noheader,nounits")
_EVERY_MS = "100"
_STOP_SECONDS = 5.0


@dataclass(slots=True)
class GpuUse:
    """`busy`: shares of the time in which a kernel ran, in percent, one a sample.

    None where there is no such device or tool.
    """

    busy: list[float] = field(default_factory=list)

    @property
    def mean(self) -> float | None:
        """Percent, over all samples."""
        return fmean(self.busy) if self.busy else None


@contextmanager
def gpu_use(device: str) -> Iterator[GpuUse]:
    """Sample the device within the block; what is yielded is filled at its end."""
    use = GpuUse()
    tool = shutil.which(TOOL)
    if tool is None or not device.startswith("cuda"):
        yield use
        return
    # The tool counts devices in another order, and knows nothing of those that are hidden.
    number = f"GPU-{device_uuid(device)}"
    with subprocess.Popen(  # noqa: S603 - the tool by its full path
        [tool, *_QUERY, "--id", number, "--loop-ms", _EVERY_MS], stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            yield use
        finally:
            process.terminate()
            output, _ = process.communicate(timeout=_STOP_SECONDS)
            _read(use, output)


def _read(use: GpuUse, output: str) -> None:
    *lines, _ = output.split("\n")  # the last may be cut short
    for line in lines:
        try:
            use.busy.append(float(line))
        except ValueError:
            continue  # "[N/A]"
