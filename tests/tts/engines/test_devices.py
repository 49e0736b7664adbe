"""Devices are named, and one that is not here is refused in words."""

import pytest
import torch

from tts.engine.errors import VersionUnavailable
from tts.engines.devices import DeviceUnavailable, device_find, device_name


def test_the_cpu_is_always_there() -> None:
    assert device_find("cpu") == torch.device("cpu")


@pytest.mark.parametrize(
    ("text", "name"),
    [("cpu", "cpu"), ("cuda", "cuda:0"), ("cuda:0", "cuda:0"), ("cuda:7", "cuda:7")],
)
def test_names(text: str, name: str) -> None:
    assert device_name(text) == name


@pytest.mark.parametrize("text", ["", "gpu", "cuda:", "cuda:x", "cuda:-1", "CUDA", "cuda:0 "])
def test_what_is_no_name(text: str) -> None:
    with pytest.raises(ValueError, match="a device is"):
        device_name(text)
    with pytest.raises(DeviceUnavailable, match="a device is"):
        device_find(text)


def test_a_build_without_cuda_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.version, "cuda", None)
    with pytest.raises(VersionUnavailable, match=r"cuda:0 was asked for, .* without CUDA"):
        device_find("cuda")


@pytest.mark.parametrize(
    ("count", "there"), [(0, "no usable CUDA device"), (1, "1 CUDA device "), (2, "2 CUDA devices")]
)
def test_a_device_beyond_those_here(
    monkeypatch: pytest.MonkeyPatch, count: int, there: str
) -> None:
    monkeypatch.setattr(torch.version, "cuda", "13.0")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: count > 0)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: count)
    with pytest.raises(DeviceUnavailable, match=f"cuda:3 was asked for, but there is {there}"):
        device_find("cuda:3")
    if count:
        assert device_find("cuda") == torch.device("cuda:0")
