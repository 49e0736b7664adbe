"""Importing vocos and ChatTTS with torchaudio, and where that does not load, without it.

torchaudio's wheel links CUDA libraries, so that beside a CPU build of torch its import raises
OSError. Of it vocos and ChatTTS use only `transforms.MelSpectrogram` and two conversions of
pitch (and vocos the name of encodec's model), which stand-ins give bit for bit.
"""

import importlib
import importlib.machinery
import math
import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType

import torch
from torch import Tensor, nn

_LOCK = threading.RLock()
_PACKAGES = ("torchaudio", "encodec")
_ENVIRONMENT = "TOKENIZERS_PARALLELISM"
"""ChatTTS sets it when it is imported, for the whole process."""


@contextmanager
def audio_library() -> Iterator[None]:
    """Within the block, `import vocos` and `import ChatTTS` work, torchaudio or not.

    Where `import torchaudio` works, it is used. Where not, stand-ins are in `sys.modules`
    during the block only; afterwards `sys.modules` says of torchaudio and encodec what it said
    before, and the imported modules keep what they bound. ChatTTS' environment variable is
    taken back too. Blocks of several threads wait for each other.
    """
    with _LOCK:
        environment = os.environ.get(_ENVIRONMENT)
        kept = _modules_of(_PACKAGES)
        stands_in = not _loads()
        if stands_in:
            _remove(_PACKAGES)
            sys.modules.update(_stand_ins())
        try:
            yield
        finally:
            if stands_in:
                _remove(_PACKAGES)
                sys.modules.update(kept)
            if environment is None:
                os.environ.pop(_ENVIRONMENT, None)
            else:
                os.environ[_ENVIRONMENT] = environment


def _loads() -> bool:
    """Whether the real torchaudio and encodec can be imported; both stay imported then."""
    try:
        for name in _PACKAGES:
            importlib.import_module(name)
    except (ImportError, OSError):
        return False
    return True


def _modules_of(packages: tuple[str, ...]) -> dict[str, ModuleType]:
    return {
        name: module for name, module in sys.modules.items() if name.partition(".")[0] in packages
    }


def _remove(packages: tuple[str, ...]) -> None:
    for name in _modules_of(packages):
        del sys.modules[name]


class Spectrogram(nn.Module):
    """torchaudio's, with a Hann window: samples (…, n) to magnitudes (…, n_fft / 2 + 1, frames)."""

    window: Tensor

    def __init__(self, n_fft: int, hop: int, power: float, center: bool) -> None:
        super().__init__()
        self.n_fft, self.hop, self.power, self.center = n_fft, hop, power, center
        self.register_buffer("window", torch.hann_window(n_fft))

    def forward(self, samples: Tensor) -> Tensor:
        """The magnitudes, to the power that was asked for."""
        spectrum = torch.stft(
            samples.reshape(-1, samples.shape[-1]),
            self.n_fft,
            self.hop,
            self.n_fft,
            self.window,
            center=self.center,
            pad_mode="reflect",
            return_complex=True,
        ).abs()
        spectrum = spectrum.reshape(samples.shape[:-1] + spectrum.shape[-2:])
        return spectrum if self.power == 1 else spectrum.pow(self.power)


class MelScale(nn.Module):
    """torchaudio's, on the HTK scale: magnitudes (…, bins, frames) to (…, mels, frames)."""

    fb: Tensor

    def __init__(self, mels: int, sample_rate: int, bins: int) -> None:
        super().__init__()
        frequencies = torch.linspace(0, sample_rate // 2, bins)
        points = torch.linspace(_hz_to_mel(0.0), _hz_to_mel(sample_rate / 2), mels + 2)
        points = 700.0 * (10.0 ** (points / 2595.0) - 1.0)
        widths = points[1:] - points[:-1]
        slopes = points.unsqueeze(0) - frequencies.unsqueeze(1)
        rising, falling = -slopes[:, :-2] / widths[:-1], slopes[:, 2:] / widths[1:]
        self.register_buffer("fb", torch.clamp(torch.min(rising, falling), min=0))

    def forward(self, spectrum: Tensor) -> Tensor:
        """The mel bands."""
        return torch.matmul(spectrum.transpose(-1, -2), self.fb).transpose(-1, -2)


class MelSpectrogram(nn.Module):
    """torchaudio's, as vocos and ChatTTS call it; its buffers have the same names."""

    def __init__(
        self,
        sample_rate: int = 16_000,
        n_fft: int = 400,
        hop_length: int | None = None,
        n_mels: int = 128,
        center: bool = True,
        power: float = 2.0,
    ) -> None:
        super().__init__()
        self.win_length, self.hop_length = n_fft, hop_length or n_fft // 2
        self.spectrogram = Spectrogram(n_fft, self.hop_length, power, center)
        self.mel_scale = MelScale(n_mels, sample_rate, n_fft // 2 + 1)

    def forward(self, samples: Tensor) -> Tensor:
        """Samples (…, n) to mel bands (…, n_mels, frames)."""
        bands: Tensor = self.mel_scale(self.spectrogram(samples))
        return bands


class EncodecModel:
    """What vocos imports by name; ChatTTS' vocoder never makes one."""


def _hz_to_mel(hertz: float, mel_scale: str = "htk") -> float:
    return 2595.0 * math.log10(1.0 + hertz / 700.0)


def _mel_to_hz(mels: Tensor, mel_scale: str = "htk") -> Tensor:
    points: Tensor = 700.0 * (10.0 ** (mels / 2595.0) - 1.0)
    return points


def _stand_ins() -> dict[str, ModuleType]:
    contents: dict[str, dict[str, object]] = {
        "torchaudio": {},
        "torchaudio.transforms": {"MelSpectrogram": MelSpectrogram},
        "torchaudio.functional": {},
        "torchaudio.functional.functional": {"_hz_to_mel": _hz_to_mel, "_mel_to_hz": _mel_to_hz},
        "encodec": {"EncodecModel": EncodecModel},
    }
    modules: dict[str, ModuleType] = {}
    for name, content in contents.items():
        module = ModuleType(name)
        module.__spec__ = importlib.machinery.ModuleSpec(name, None, is_package=True)
        module.__path__ = []
        module.__dict__.update(content)
        parent, _, child = name.rpartition(".")
        if parent:
            setattr(modules[parent], child, module)
        modules[name] = module
    return modules
