"""Which weights `bench chattts` and its kin measure, and where."""

import tempfile
from argparse import ArgumentParser, ArgumentTypeError
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tts.engines.base import Device
from tts.engines.devices import CPU, cores, device_name
from voicehost.bench.base import BenchRun


def checkpoint_arguments(parser: ArgumentParser) -> None:
    """Which weights."""
    parser.add_argument(
        "--size",
        choices=["tiny", "small", "full"],
        default="full",
        help="of the random checkpoint; full is the release's (%(default)s)",
    )
    parser.add_argument("--checkpoint", type=Path, help="a checkpoint to use instead")


@contextmanager
def checkpoint(run: BenchRun) -> Iterator[Path]:
    """The folder of the weights that `checkpoint_arguments` asked for."""
    given = run.options["checkpoint"]
    if given is not None:
        yield given
        return
    # Nothing that needs torch is imported before it is used: manage.py imports this module.
    from tts.engines.chattts.random_checkpoint import RandomCheckpoint, Size

    size = run.options["size"]
    with tempfile.TemporaryDirectory(prefix="voicehost-chattts-") as folder:
        run.progress.say(f"writing a random checkpoint, {size}")
        RandomCheckpoint(Size(size)).write(Path(folder))
        yield Path(folder)


def device_argument(parser: ArgumentParser) -> None:
    """Which device."""
    parser.add_argument(
        "--device", type=_device, default=CPU, help="cpu, cuda or cuda:N (%(default)s)"
    )


def devices_tried(run: BenchRun) -> list[Device]:
    """The device with each number of threads that may be the fastest.

    More threads than free cores are far slower. A CUDA device's work needs no more than one.
    """
    name: str = run.options["device"]
    return [Device(name, threads) for threads in sorted({1, cores() if name == CPU else 1})]


def aims_hold(run: BenchRun, device: Device) -> bool:
    """Whether aims are held against the run: they are those of the release's sizes on a CPU."""
    size, given = run.options["size"], run.options["checkpoint"]
    return size == "full" and given is None and device.name == CPU


def _device(text: str) -> str:
    try:
        return device_name(text)
    except ValueError as error:
        raise ArgumentTypeError(str(error)) from error
