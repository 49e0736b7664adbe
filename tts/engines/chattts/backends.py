"""Which backend computes the decoder on a machine."""

import hashlib
import logging

from tts.engines.base import Device, Shards
from tts.engines.chattts.backend import CacheShape, GptBackend, GptWeights, Precision
from tts.engines.chattts.config import GptConfig
from tts.engines.chattts.native.backend import NativeBackend, PackedWeights
from tts.engines.chattts.torch_backend import TorchBackend
from tts.engines.chattts.weights import gpt_weights

logger = logging.getLogger(__name__)


def backend_create(
    shards: Shards, config: GptConfig, cache: CacheShape, precision: Precision, device: Device
) -> GptBackend:
    """The fastest backend there is here: our C++ where it can be compiled, else torch.

    Raises VersionUnavailable for weights that do not fit `config`, MemoryError.
    """
    embed = shards.read("embed")

    def read() -> GptWeights:
        return gpt_weights(config, shards.read("gpt"), embed)

    reason = NativeBackend.available(precision)
    if reason is None:
        # The heads are of another shard than the one that names the object.
        heads = hashlib.sha256(embed).hexdigest()[:16]
        packed = shards.resident(
            "gpt",
            f"chattts-native-{precision}-{heads}",
            lambda: PackedWeights(read(), config, precision),
        )
        return NativeBackend(packed, config, cache, precision, device.threads)
    logger.warning("ChatTTS computes with torch, several times slower: %s", reason)
    return TorchBackend(read(), config, cache, precision=precision, threads=device.threads)
