"""Random GPT weights as the backends take them, and the same ones in transformers' LlamaModel."""

from typing import Any

import numpy as np

from tts.engines.chattts.audio_library import audio_library
from tts.engines.chattts.backend import Floats, GptWeights, LayerWeights
from tts.engines.chattts.config import GptConfig

TINY = GptConfig(
    layers=2, hidden=64, heads=4, intermediate=160, positions=128, text_tokens=50, audio_tokens=40
)


def weights_random(config: GptConfig = TINY, seed: int = 0) -> GptWeights:
    """Weights that keep activations near a standard deviation of one."""
    random = np.random.default_rng(seed)

    def matrix(outputs: int, inputs: int) -> Floats:
        values = random.standard_normal((outputs, inputs), dtype=np.float32)
        return np.ascontiguousarray(values / np.float32(np.sqrt(inputs)))

    def norm() -> Floats:
        return random.uniform(0.5, 1.5, config.hidden).astype(np.float32)

    hidden, wide = config.hidden, config.intermediate
    layers = tuple(
        LayerWeights(
            norm(),
            matrix(3 * hidden, hidden),
            matrix(hidden, hidden),
            norm(),
            matrix(2 * wide, hidden),
            matrix(hidden, wide),
        )
        for _ in range(config.layers)
    )
    return GptWeights(layers, norm(), matrix(config.codebooks * config.audio_tokens, hidden))


def inputs_random(config: GptConfig, rows: int, seed: int = 0) -> Floats:
    """Embeddings (rows, h)."""
    random = np.random.default_rng(seed)
    return random.standard_normal((rows, config.hidden), dtype=np.float32)


def llama_hidden(weights: GptWeights, config: GptConfig, inputs: Floats) -> Floats:
    """What transformers' LlamaModel, which ChatTTS uses, makes of one sequence (t, h)."""
    import torch

    with audio_library():
        from transformers import LlamaConfig, LlamaModel

    model = LlamaModel(
        LlamaConfig(
            hidden_size=config.hidden,
            intermediate_size=config.intermediate,
            num_attention_heads=config.heads,
            num_hidden_layers=config.layers,
            max_position_embeddings=config.positions,
            vocab_size=2,
        )
    )
    model.load_state_dict(_state(weights, config), strict=True)
    with torch.inference_mode():
        states = model(inputs_embeds=torch.from_numpy(inputs)[None]).last_hidden_state
    result: Floats = states[0].numpy()
    return result


def _state(weights: GptWeights, config: GptConfig) -> dict[str, Any]:
    import torch

    state = {"embed_tokens.weight": np.zeros((2, config.hidden), np.float32)}
    for index, layer in enumerate(weights.layers):
        q, k, v = np.split(layer.qkv, 3)
        gate, up = np.split(layer.gate_up, 2)
        for name, value in (
            ("input_layernorm", layer.input_norm),
            ("self_attn.q_proj", q),
            ("self_attn.k_proj", k),
            ("self_attn.v_proj", v),
            ("self_attn.o_proj", layer.attention),
            ("post_attention_layernorm", layer.output_norm),
            ("mlp.gate_proj", gate),
            ("mlp.up_proj", up),
            ("mlp.down_proj", layer.down),
        ):
            state[f"layers.{index}.{name}.weight"] = value
    state["norm.weight"] = weights.norm
    return {name: torch.from_numpy(value) for name, value in state.items()}
