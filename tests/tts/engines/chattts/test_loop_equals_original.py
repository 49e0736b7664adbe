"""The step loop says what ChatTTS' own `GPT.generate` says, token for token.

Random numbers are those of our streams on both sides: the original's draw is replaced by one
that inverts its probabilities at the next numbers of each row's stream.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from tests.tts.engines.chattts.looping import run
from tests.tts.engines.chattts.originals import Originals, originals_load
from tts.engines.chattts import EOS, layout
from tts.engines.chattts.audio_library import audio_library
from tts.engines.chattts.backend import CacheShape, Floats
from tts.engines.chattts.checkpoint import Checkpoint
from tts.engines.chattts.config import GptConfig
from tts.engines.chattts.decoding import AudioDecoding, Decoding, TextDecoding
from tts.engines.chattts.generation import End, Generation, Kind, Prompt, RowStep
from tts.engines.chattts.loop import StepLoop
from tts.engines.chattts.random_stream import RandomStream, StreamKey
from tts.engines.chattts.sampler import Sampling
from tts.engines.chattts.torch_backend import TorchBackend
from tts.engines.chattts.weights import embeddings, gpt_weights, text_head

# The original calls transformers as its older versions were called.
pytestmark = pytest.mark.filterwarnings("ignore:`past_key_values` is deprecated:FutureWarning")

SLOTS = CacheShape(slots=4, positions=160)
MOST = 60
AUDIO = Sampling()
TEXT = Sampling(temperature=0.7, repetition_penalty=1.0)
WILD = Sampling(temperature=1.5, top_p=0.95, top_k=60, repetition_penalty=1.4)


@dataclass(frozen=True, slots=True)
class Pair:
    """The same weights in the original's classes and in our loop."""

    originals: Originals
    generate: Any
    loop: StepLoop
    end_of_text: int


def pair_load(folder: Path) -> Pair:
    found = Checkpoint.open(folder)
    config = found.config.gpt
    gpt, embed = ((found.asset / name).read_bytes() for name in (layout.GPT, layout.EMBED))
    originals = originals_load(folder, found.config)
    end = originals.tokenizer.eos_token
    tables = embeddings(config, embed)
    decodings: dict[Kind, Decoding] = {
        Kind.AUDIO: AudioDecoding(config, tables, SLOTS.slots),
        Kind.TEXT: TextDecoding(text_head(config, embed), tables, SLOTS.slots, end),
    }
    backend = TorchBackend(gpt_weights(config, gpt, embed), config, SLOTS)
    loop = StepLoop(backend, config, tables, decodings)
    return Pair(originals, _generate(originals, config), loop, end)


def _generate(originals: Originals, config: GptConfig) -> Any:
    with audio_library():
        from ChatTTS.model.gpt import GPT
    settings = {
        "hidden_size": config.hidden,
        "num_vq": config.codebooks,
        "num_audio_tokens": config.audio_tokens,
        "num_text_tokens": config.text_tokens,
    }
    gpt = GPT(settings, originals.embed)
    gpt.gpt = originals.gpt
    return gpt.generate


@pytest.fixture(scope="module")
def endless(chattts_tiny: Path) -> Pair:
    return pair_load(chattts_tiny)


@pytest.fixture(scope="module")
def ending(chattts_tiny_ending: Path) -> Pair:
    return pair_load(chattts_tiny_ending)


@dataclass
class Draws:
    """Stands in for torch.multinomial: one stream a row, `books` numbers a step."""

    streams: list[RandomStream]
    books: int

    def __call__(self, scores: Tensor, num_samples: int) -> Tensor:
        assert num_samples == 1
        numbers = np.concatenate([stream.draw(self.books)[0] for stream in self.streams])
        sums = scores.double().cumsum(-1)
        targets = torch.from_numpy(numbers)[:, None] * sums[:, -1:]
        return (sums > targets).int().argmax(-1, keepdim=True)


@torch.inference_mode()
def original(
    pair: Pair, rows: Sequence[Generation], monkeypatch: pytest.MonkeyPatch
) -> list[tuple[Floats, Floats]]:
    """Tokens (t, codebooks or 1) and hidden states (t, h) of rows with equal parameters."""
    with audio_library():
        from ChatTTS.model.processors import gen_logits
    first = rows[0]
    text, sampling = first.kind is Kind.TEXT, first.sampling
    warpers, processors = gen_logits(
        EOS, sampling.top_p, sampling.top_k, sampling.repetition_penalty
    )
    ids, attention, emb = _inputs(pair.originals, [row.prompt for row in rows])
    books = 1 if text else ids.shape[2]
    draws = Draws([RandomStream(row.key) for row in rows], books)
    with monkeypatch.context() as patched:
        patched.setattr(torch, "multinomial", draws)
        (found,) = pair.generate(
            emb,
            ids,
            torch.full((books,), sampling.temperature),
            pair.end_of_text if text else EOS,
            attention,
            first.max_tokens,
            first.min_tokens,
            (*processors, *warpers),
            infer_text=text,
            return_hidden=True,
            show_tqdm=False,
            ensure_non_empty=False,
        )
    tokens = [each.numpy().reshape(-1, books) for each in found.ids]
    return list(zip(tokens, [each.numpy() for each in found.hiddens], strict=True))


def _inputs(originals: Originals, prompts: Sequence[Prompt]) -> tuple[Tensor, Tensor, Tensor]:
    """Ids, attention mask and embeddings, padded on the left as the original's tokenizer does."""
    books, longest = len(originals.embed.emb_code), max(prompt.length for prompt in prompts)
    ids = torch.zeros((len(prompts), longest, books), dtype=torch.long)
    attention = torch.zeros((len(prompts), longest), dtype=torch.bool)
    text = torch.zeros_like(attention)
    for row, prompt in enumerate(prompts):
        start = longest - prompt.length
        end = start + len(prompt.tokens)
        attention[row, start:] = True
        ids[row, start:end] = torch.tensor(prompt.tokens)[:, None]
        if prompt.sample is not None:
            ids[row, end:] = torch.from_numpy(prompt.sample.astype(np.int64)).T
        text[row] = attention[row]
        text[row, end:] = False
    # The original calls padding text when it embeds nothing else, and code when it has samples.
    emb = originals.embed(ids, text | ~attention)
    for row, prompt in enumerate(prompts):
        if prompt.speaker is not None and prompt.speaker_at is not None:
            place = longest - prompt.length + prompt.speaker_at
            emb[row, place] = torch.from_numpy(prompt.speaker)
    return ids, attention, emb


def ours(pair: Pair, rows: Sequence[Generation]) -> list[list[RowStep]]:
    return list(run(pair.loop, [pair.loop.join(row) for row in rows]).values())


def compare(pair: Pair, rows: Sequence[Generation], monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Assert that both sides say the same; returns how many tokens each row has."""
    theirs = original(pair, rows, monkeypatch)
    lengths = []
    for steps, (tokens, hidden) in zip(ours(pair, rows), theirs, strict=True):
        assert not any(step.restarted or step.error for step in steps)
        found = [step for step in steps if step.codes is not None]
        np.testing.assert_array_equal([step.codes for step in found], tokens)
        np.testing.assert_allclose(
            np.array([step.hidden for step in found]), hidden, atol=1e-5, rtol=0
        )
        assert (steps[-1].end is End.LENGTH) == (len(tokens) == rows[0].max_tokens)
        lengths.append(len(tokens))
    return lengths


def row_of(seed: int, length: int, sampling: Sampling, kind: Kind = Kind.AUDIO) -> Generation:
    tokens = np.random.default_rng(seed).integers(1, 900, length)
    return Generation(Prompt(tuple(tokens.tolist())), StreamKey(seed), MOST, sampling, kind=kind)


@pytest.mark.parametrize("sampling", [AUDIO, WILD], ids=["default", "wild"])
def test_audio_codes(endless: Pair, sampling: Sampling, monkeypatch: pytest.MonkeyPatch) -> None:
    for seed in range(4):
        assert compare(endless, [row_of(seed, 12, sampling)], monkeypatch) == [MOST]


def test_a_batch_of_several_lengths(ending: Pair, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [row_of(seed, length, WILD) for seed, length in ((1, 5), (2, 20), (3, 11))]
    lengths = compare(ending, rows, monkeypatch)
    assert len(set(lengths)) == 3


def test_the_greatest_is_chosen_where_it_is_cold(
    endless: Pair, monkeypatch: pytest.MonkeyPatch
) -> None:
    cold = Sampling(temperature=0.01, top_p=0.01, top_k=1, repetition_penalty=1.05)
    assert compare(endless, [row_of(5, 9, cold)], monkeypatch) == [MOST]


def test_an_end_may_not_come_early(ending: Pair, monkeypatch: pytest.MonkeyPatch) -> None:
    row = replace(row_of(1, 12, WILD), min_tokens=40)
    (length,) = compare(ending, [row], monkeypatch)
    assert length >= 40


def test_a_speaker_and_a_sample(endless: Pair, monkeypatch: pytest.MonkeyPatch) -> None:
    random = np.random.default_rng(8)
    speaker = random.standard_normal(64).astype(np.float32)
    sample = random.integers(0, EOS, (4, 25)).astype(np.uint16)
    for prompt in (Prompt((5, 6, 7, 8), 1, speaker), Prompt((5, 6, 7, 8), sample=sample)):
        row = Generation(prompt, StreamKey(8), MOST, AUDIO)
        assert compare(endless, [row], monkeypatch) == [MOST]


def test_refined_text(endless: Pair, ending: Pair, monkeypatch: pytest.MonkeyPatch) -> None:
    assert compare(endless, [row_of(1, 14, TEXT, Kind.TEXT)], monkeypatch) == [MOST]
    hot = replace(TEXT, temperature=1.3)
    rows = [row_of(seed, 4 + seed, hot, Kind.TEXT) for seed in range(4)]
    assert min(compare(ending, rows, monkeypatch)) < MOST
