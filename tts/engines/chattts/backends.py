"""Which backend computes the decoder on a machine."""

import logging
from collections.abc import Callable
from functools import partial

import torch

from tts.engines.base import Device, Shards
from tts.engines.chattts.backend import CacheShape, GptBackend, GptWeights, Precision
from tts.engines.chattts.config import GptConfig
from tts.engines.chattts.cuda_backend import CudaBackend
from tts.engines.chattts.device_memory import (
    DeviceMemoryExhausted,
    DeviceTooSmall,
    cache_fitting,
    memory_free,
)
from tts.engines.chattts.gpt_shards import (
    GptShard,
    gpt_read,
    gpt_shards,
    layers_read,
    output_read,
)
from tts.engines.chattts.native.backend import NativeBackend
from tts.engines.chattts.native.packed import PackedPart, PackedWeights
from tts.engines.chattts.torch_backend import TorchBackend
from tts.engines.devices import device_find

logger = logging.getLogger(__name__)

_MB = 1_000_000


def backend_create(
    shards: Shards,
    config: GptConfig,
    cache: CacheShape,
    precision: Precision,
    device: Device,
    *,
    stable: bool = True,
) -> GptBackend:
    """The fastest backend of `device`; on the CPU our C++ where it can be compiled, else torch.

    Its cache has fewer slots than `cache` where a CUDA device holds no more. Raises
    VersionUnavailable for weights that do not fit `config`, or a device that is not here or
    too small, MemoryError. `stable`: see TorchBackend; the others always are.
    """
    place = device_find(device.name)
    if place.type == "cuda":
        backend = _cuda(gpt_read(shards, config), config, cache, precision, place)
        shards.account("weights", backend.memory.total - backend.memory.cache)
        return backend
    reason = NativeBackend.available(precision)
    if reason is None:
        packed = PackedWeights(_parts(shards, config, precision))
        return NativeBackend(packed, config, cache, precision, device.threads)
    logger.warning("ChatTTS computes with torch, several times slower: %s", reason)
    weights = gpt_read(shards, config)
    shards.account("weights", weights.bytes)
    return TorchBackend(
        weights,
        config,
        cache,
        precision=precision,
        threads=device.threads,
        stable=stable,
    )


def _parts(shards: Shards, config: GptConfig, precision: Precision) -> list[PackedPart]:
    """The decoder packed for our C++, a part for each shard: versions share those they share."""

    def layers(shard: GptShard) -> PackedPart:
        return PackedPart(
            config,
            precision,
            first=shard.layers.start,
            layers=layers_read(shards, config, shard),
        )

    def part(names: tuple[str, ...], transform: str, build: Callable[[], PackedPart]) -> PackedPart:
        return shards.resident(names, transform, build, lambda packed: packed.bytes)

    way = f"chattts-native-{precision}"
    found = [
        part((shard.name, "config"), f"{way}-{shard.layers.start}", partial(layers, shard))
        for shard in gpt_shards(config)
    ]
    last = gpt_shards(config)[-1].name
    output = part(
        ("embed", last, "config"),
        f"{way}-output",
        lambda: PackedPart(config, precision, output=output_read(shards, config)),
    )
    return [*found, output]


def _cuda(
    weights: GptWeights,
    config: GptConfig,
    cache: CacheShape,
    precision: Precision,
    device: torch.device,
) -> CudaBackend:
    value = 4 if precision is Precision.FP32 else 2
    slot = config.cache_values * cache.positions * value
    fitting = cache_fitting(cache, slot, memory_free(device))
    try:
        backend = CudaBackend(weights, config, fitting, device=device, precision=precision)
    except DeviceMemoryExhausted as error:
        raise DeviceTooSmall(error.message, retry_after=error.retry_after) from error
    held = backend.memory
    logger.info(
        "ChatTTS on %s in %s: %d slots, steps of %s rows; MB: weights %d, cache %d, graphs %d",
        device, backend.dtype, fitting.slots, backend.buckets,
        held.weights // _MB, held.cache // _MB, held.graphs // _MB,
    )  # fmt: skip
    return backend
