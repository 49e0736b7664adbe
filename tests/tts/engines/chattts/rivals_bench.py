"""A decode step at full size by ours, torch, torchao and OpenVINO: why ours is kept.

Run as `python -m tests.tts.engines.chattts.rivals_bench [threads]`; torchao, openvino and nncf are
no requirements: those that are not installed are left out. The others compute the projections,
norms and gates of all layers; ours computes attention over a short context and the heads besides.
Every figure is the best of several tries.
"""

import importlib
import sys
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from tests.tts.engines.chattts.native_bench import CONFIG, best_of, say, step_seconds
from tests.tts.engines.chattts.random_gpt import weights_random
from tts.engines.chattts.backend import CacheShape, GptWeights, LayerWeights, Precision
from tts.engines.chattts.native.backend import NativeBackend

BATCHES = (1, 8, 16)
Step = Callable[[Tensor], object]


class Layer(nn.Module):
    """A layer without its attention: what its heads would give is what they are given."""

    def __init__(self, weights: LayerWeights) -> None:
        super().__init__()
        self.qkv, self.out, self.gate_up, self.down = (
            _linear(values)
            for values in (weights.qkv, weights.attention, weights.gate_up, weights.down)
        )
        self.first, self.second = (
            nn.Parameter(torch.from_numpy(values.copy()))
            for values in (weights.input_norm, weights.output_norm)
        )

    def forward(self, x: Tensor) -> Tensor:
        """Rows (n, hidden) to the next layer's."""
        size = (x.shape[-1],)
        qkv = self.qkv(functional.rms_norm(x, size, self.first, 1e-6))
        query, key, value = qkv.chunk(3, dim=-1)
        x = x + self.out(query + key + value)
        gate, up = self.gate_up(functional.rms_norm(x, size, self.second, 1e-6)).chunk(2, dim=-1)
        return x + self.down(functional.silu(gate) * up)  # type: ignore[no-any-return]


def _linear(values: Any) -> nn.Linear:
    linear = nn.Linear(values.shape[1], values.shape[0], bias=False)
    linear.weight = nn.Parameter(torch.from_numpy(values.copy()))
    return linear


def model_make(weights: GptWeights) -> nn.Sequential:
    return nn.Sequential(*map(Layer, weights.layers)).eval()


# -- what computes it ------------------------------------------------------------------


def torch_plain(weights: GptWeights) -> Step:
    return model_make(weights)


def torch_bfloat16(weights: GptWeights) -> Step:
    model = model_make(weights).bfloat16()
    return lambda x: model(x.bfloat16())


def torchao_int8(weights: GptWeights) -> Step:
    quantization = importlib.import_module("torchao.quantization")
    model = model_make(weights)
    quantization.quantize_(model, quantization.Int8DynamicActivationInt8WeightConfig())
    return torch.compile(model, dynamic=False)


def torchao_weights(weights: GptWeights) -> Step:
    quantization = importlib.import_module("torchao.quantization")
    model = model_make(weights)
    quantization.quantize_(model, quantization.Int8WeightOnlyConfig())
    return torch.compile(model, dynamic=False)


def _openvino(weights: GptWeights, compressed: bool, hint: str) -> Step:
    openvino = importlib.import_module("openvino")
    model = openvino.convert_model(model_make(weights), example_input=torch.zeros(1, CONFIG.hidden))
    if compressed:
        nncf = importlib.import_module("nncf")
        model = nncf.compress_weights(model, mode=nncf.CompressWeightsMode.INT8_SYM)
    settings = {
        "INFERENCE_PRECISION_HINT": hint,
        "INFERENCE_NUM_THREADS": torch.get_num_threads(),
        "PERFORMANCE_HINT": "LATENCY",
    }
    if compressed:
        settings["DYNAMIC_QUANTIZATION_GROUP_SIZE"] = str(CONFIG.hidden)
    request = openvino.compile_model(model, "CPU", settings).create_infer_request()
    return lambda x: request.infer([x.numpy()])


def openvino_float32(weights: GptWeights) -> Step:
    return _openvino(weights, compressed=False, hint="f32")


def openvino_int8(weights: GptWeights) -> Step:
    return _openvino(weights, compressed=True, hint="f32")


RIVALS = (
    torch_plain, torch_bfloat16, torchao_int8, torchao_weights, openvino_float32, openvino_int8,
)  # fmt: skip


def ours(weights: GptWeights, precision: Precision, threads: int) -> None:
    reason = NativeBackend.available(precision)
    if reason is not None:
        say(f"ours in {precision}: {reason}")
        return
    backend = NativeBackend(weights, CONFIG, CacheShape(16, 64), precision, threads)
    _say(f"ours in {precision}", [step_seconds(backend, rows, (16, 16)) for rows in BATCHES])
    backend.close()


def rival(make: Callable[[GptWeights], Step], weights: GptWeights) -> None:
    name = make.__name__.replace("_", " ")
    try:
        step = make(weights)
        seconds = [_seconds(step, rows) for rows in BATCHES]
    except ImportError as error:
        say(f"{name}: not installed ({error})")
        return
    _say(name, seconds)


def _seconds(step: Step, rows: int) -> float:
    x = torch.from_numpy(
        np.random.default_rng(0).standard_normal((rows, CONFIG.hidden), np.float32)
    )
    with torch.inference_mode():
        for _ in range(3):
            step(x)
        return best_of(20, lambda: step(x))


def _say(name: str, seconds: list[float]) -> None:
    steps = ", ".join(f"{each * 1e3:6.1f}" for each in seconds)
    say(f"{name:20} {steps} ms at {', '.join(map(str, BATCHES))} rows")


def main() -> None:
    threads = int(sys.argv[1]) if len(sys.argv) > 1 else 2
    torch.set_num_threads(threads)
    warnings.simplefilter("ignore")
    weights = weights_random(CONFIG)
    for precision in Precision:
        ours(weights, precision, threads)
    for make in RIVALS:
        rival(make, weights)


if __name__ == "__main__":
    main()
