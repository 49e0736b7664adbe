"""Our side: the step loop and the vocoder, as a profile has them."""

import json
import math
from collections.abc import Sequence
from time import perf_counter

from tts.engine.request import Profile
from tts.engines.base import Device, Shards
from tts.engines.chattts.backend import CacheShape
from tts.engines.chattts.backends import backend_create
from tts.engines.chattts.bench.pace import Pace
from tts.engines.chattts.config_json import config_from_json
from tts.engines.chattts.decoding import AudioDecoding
from tts.engines.chattts.generation import Generation, Kind, Prompt, RowStep
from tts.engines.chattts.loop import StepLoop
from tts.engines.chattts.profile import profile_settings
from tts.engines.chattts.random_stream import StreamKey
from tts.engines.chattts.speech import Take
from tts.engines.chattts.tokens import DEFAULT_SPEED, Vocabulary
from tts.engines.chattts.vocoder import Vocoder
from tts.engines.chattts.weights import embeddings
from tts.engines.chattts.windows import StreamingDecoder


class OwnSide:
    """One profile's precisions and windows; every utterance is spoken once, as it is."""

    def __init__(self, shards: Shards, profile: Profile, device: Device, most_rows: int) -> None:
        """Load; raises VersionUnavailable, MemoryError."""
        self._settings = settings = profile_settings(profile, device)
        model = config_from_json(json.loads(shards.read("config")))
        self._config = model.gpt
        self._vocabulary = Vocabulary.read(shards.read("tokenizer"))
        self._tables = embeddings(model.gpt, shards.read("embed"))
        cache = CacheShape(most_rows, settings.cache.positions)
        self._backend = backend_create(shards, model.gpt, cache, settings.precision, device)
        self._vocoder = Vocoder.load(
            shards, model, device, settings.vocoder, settings.vocoder_group
        )

    def speak(self, texts: Sequence[str], tokens: int, seconds: float = math.inf) -> Pace:
        """Speak the texts together, `tokens` of each; fewer where that takes over `seconds`."""
        return self.speak_lengths(texts, [tokens] * len(texts), seconds)

    def speak_lengths(
        self, texts: Sequence[str], lengths: Sequence[int], seconds: float = math.inf
    ) -> Pace:
        """Speak the texts, as many tokens of each as `lengths` says, fewer after `seconds`.

        Those beyond the slots wait, and join as slots become free.
        """
        audio = AudioDecoding(self._config, self._tables, self._backend.cache.slots)
        loop = StepLoop(self._backend, self._config, self._tables, {Kind.AUDIO: audio})
        plan = self._settings.windows
        rows = [
            loop.join(self._generation(seed, *each))
            for seed, each in enumerate(zip(texts, lengths, strict=True))
        ]
        takes = {row: Take(row, StreamingDecoder(plan)) for row in rows}
        began = start = perf_counter()
        waits: dict[int, float] = {}
        steps: list[float] = []
        computing, done = 0.0, 0
        while takes and not (done and start - began > seconds):
            start = perf_counter()
            chosen = loop.step(list(takes))
            computing += perf_counter() - start
            done += len(chosen)
            for row in self._hear(takes, chosen):
                waits.setdefault(row, perf_counter() - began)
            steps.append(perf_counter() - start)
            takes = {row: take for row, take in takes.items() if not take.ended}
        for row in takes:
            loop.release(row)
        decoding = sum(steps) - computing
        return Pace(len(texts), done, computing, decoding, tuple(steps), tuple(waits.values()))

    def close(self) -> None:
        """Free weights and cache."""
        self._backend.close()

    def _generation(self, seed: int, text: str, tokens: int) -> Generation:
        prompt = self._vocabulary.code_prompt((text.lower(),), (DEFAULT_SPEED,))
        return Generation(Prompt(prompt.ids), StreamKey(seed), tokens, min_tokens=tokens)

    def _hear(self, takes: dict[int, Take], chosen: Sequence[RowStep]) -> list[int]:
        """Decode what is due; returns the rows that it was due for."""
        for step in chosen:
            takes[step.row].advance(step)
        due = [(step.row, window) for step in chosen for window in takes[step.row].windows()]
        if due:
            self._vocoder.decode([window for _, window in due])
        return [row for row, _ in due]
