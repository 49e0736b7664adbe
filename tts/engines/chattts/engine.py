"""The ChatTTS engine: one token for every active row a step, audio window by window."""

import itertools
import logging
import re
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, replace

from tts.audio.faults import faults, rank
from tts.engine.errors import EngineError, NothingToSpeak, failure_of
from tts.engine.request import Profile, VoiceSpec
from tts.engine.traces import trace_of
from tts.engines.base import (
    Device,
    EngineKind,
    EngineTraits,
    Samples,
    Shards,
    StepResult,
    SynthesisParams,
    Utterance,
)
from tts.engines.chattts import SAMPLE_RATE
from tts.engines.chattts.casting import Casting, Speaker
from tts.engines.chattts.generation import GenerationRefused, Prompt
from tts.engines.chattts.lengths import TOKEN_SECONDS, Lengths
from tts.engines.chattts.parts import parts_load
from tts.engines.chattts.profile import profile_settings
from tts.engines.chattts.random_stream import StreamKey
from tts.engines.chattts.recording import RecordingEncoder
from tts.engines.chattts.refinement import Refiner, Refining
from tts.engines.chattts.script import script
from tts.engines.chattts.speaker import SpeakerStatistics
from tts.engines.chattts.speech import SILENCE, Speech, Take
from tts.engines.chattts.tokens import DEFAULT_SPEED
from tts.text.segment import Language, Segment

logger = logging.getLogger(__name__)

_TAKES = 1_000
"""Attempts of one take are numbered from this times its number on."""
_REFINEMENT = 1_000_000
"""The number of refinement's first attempt, beyond those of all takes."""
_SPEECH_CONTROLS = "speed_"
"""What the audio's prompt takes; all other prompt tokens are for refinement."""
_CUT = "an utterance was cut at its longest: the model did not end"
_MARK = re.compile(r"\[([a-z_0-9]+)\]")


@dataclass(frozen=True, slots=True)
class _Line:
    """What an utterance is to say, and by whom."""

    ids: tuple[int, ...]
    controls: tuple[str, ...]
    speaker: "Future[Speaker]"
    seed: int
    segment: int
    lengths: Lengths


class ChatTtsEngine:
    """Speaks with ChatTTS' weights in the step loop of this package."""

    traits = EngineTraits(
        kind=EngineKind.STEP,
        sample_rate=SAMPLE_RATE,
        languages=tuple(Language),
        step_seconds=TOKEN_SECONDS,
    )

    def __init__(self) -> None:
        self._ids = itertools.count(1)
        self._speeches: dict[int, Speech] = {}
        self._refining: dict[int, Refining] = {}

    def load(
        self,
        shards: Shards,
        device: Device,
        profile: Profile,
        notify: Callable[[], None],
        numbers: Profile | None = None,
    ) -> None:
        """Build everything of one profile; raises VersionUnavailable."""
        self._settings = settings = profile_settings(profile, device, numbers)
        parts = parts_load(shards, device, settings)
        model = parts.model
        self._config = config = model.gpt
        self._vocabulary, self._backend = parts.vocabulary, parts.backend
        self._loop, self._vocoder = parts.loop, parts.vocoder
        # A device may have room for fewer slots than were asked for.
        held = self._backend.cache.slots // settings.takes
        self.traits = replace(self.traits, max_utterances=max(1, held))
        self._refiner = Refiner(self._vocabulary)
        self._casting = Casting(
            SpeakerStatistics.read(str(shards.read("speaker"), "utf-8"), config.hidden),
            config.codebooks,
            lambda samples: shards.resident(
                ("dvae", "config"),
                "chattts-recordings",
                lambda: RecordingEncoder(shards.read("dvae"), model, threads=1),
            ).encode(samples),
            notify,
        )

    def prepare(self, segment: Segment, voice: VoiceSpec, params: SynthesisParams) -> Utterance:
        """Write the script, find the speaker; raises VoiceUnavailable, NothingToSpeak."""
        text = script(segment, self._vocabulary.characters)
        plain = _MARK.sub("", text)
        if not any(character.isalpha() for character in plain):
            raise NothingToSpeak("the segment has nothing that ChatTTS reads")
        line = _Line(
            self._vocabulary.encode(self._pieces(text)),
            segment.prompt,
            self._casting.cast(voice),
            params.seed or 0,
            segment.index,
            Lengths.of(segment, plain),
        )
        return Utterance(next(self._ids), segment.index, line, line.lengths.expected)

    def step(self, active: Sequence[Utterance]) -> list[StepResult]:
        """One token for every row of `active`, and the audio that this makes due."""
        began = time.perf_counter()
        results: dict[int, StepResult] = {}
        speaking: list[tuple[int, Speech]] = []
        for utterance in active:
            key = utterance.utterance_id
            try:
                speech = self._speeches.get(key) or self._begin(utterance)
            except Exception as error:  # noqa: BLE001 - a row that cannot begin ends alone
                self.release(utterance)
                results[key] = StepResult(key, SILENCE, finished=True, error=_begin_failed(error))
                continue
            if speech is not None:
                speaking.append((key, speech))
        refining = self._advance([speech for _, speech in speaking], active)
        audio = self._decode([speech for _, speech in speaking])
        for (key, speech), samples in zip(speaking, audio, strict=True):
            finished = not speech.rows
            results[key] = StepResult(
                key, samples, finished, speech.error, notice=_CUT if finished and speech.cut else ""
            )
            if finished:
                del self._speeches[key]
        for key in refining:
            results[key] = StepResult(key, SILENCE)
        share = (time.perf_counter() - began) / max(1, len(results))
        return [replace(result, compute_seconds=share) for result in results.values()]

    def release(self, utterance: Utterance) -> None:
        """Free its rows and their part of the cache."""
        speech = self._speeches.pop(utterance.utterance_id, None)
        if speech is not None:
            for row in speech.rows:
                self._loop.release(row)
        refining = self._refining.pop(utterance.utterance_id, None)
        if refining is not None:
            self._loop.release(refining.row)

    def close(self) -> None:
        """Free the cache, and the weights where no other engine has them."""
        self._casting.close()
        self._speeches.clear()
        self._refining.clear()
        self._backend.close()

    @property
    def rows(self) -> int:
        """Rows in the loop: none when nothing is being spoken."""
        return self._loop.rows

    def _begin(self, utterance: Utterance) -> Speech | None:
        """Have its rows join; None while its recording is being heard or its text refined."""
        line = utterance.payload
        assert isinstance(line, _Line)  # noqa: S101 - made by this engine's own prepare
        if not line.speaker.done():
            return None
        speaker = line.speaker.result()
        ids = self._refined(utterance.utterance_id, line) if self._settings.refines else line.ids
        if ids is None:
            return None
        settings, lengths = self._settings, line.lengths
        prompt = self._prompt(ids, line, speaker)
        positions = settings.cache.positions
        # Of takes that are compared nothing leaves before all have ended.
        used_from = settings.windows.first_tokens if settings.takes == 1 else 0
        takes = [
            lengths.generation(
                prompt, StreamKey(line.seed, line.segment, take * _TAKES), positions, used_from
            )
            for take in range(settings.takes)
        ]
        rows = [self._loop.join(generation) for generation in takes]
        speech = Speech.of(
            rows,
            settings.windows,
            lambda found: _best(found, lengths.expected),
            codes=self._vocoder.takes_codes,
        )
        self._speeches[utterance.utterance_id] = speech
        return speech

    def _refined(self, key: int, line: _Line) -> tuple[int, ...] | None:
        """The ids to speak; None while they are being found."""
        refining = self._refining.get(key)
        if refining is None:
            controls = [name for name in line.controls if not name.startswith(_SPEECH_CONTROLS)]
            stream = StreamKey(line.seed, line.segment, _REFINEMENT)
            try:
                row = self._loop.join(self._refiner.generation(line.ids, controls, stream))
            except GenerationRefused:
                return line.ids  # too long to be written twice
            self._refining[key] = Refining(row, line.ids)
            return None
        if not refining.ended:
            return None
        del self._refining[key]
        return refining.result(self._refiner)

    def _prompt(self, ids: tuple[int, ...], line: _Line, speaker: Speaker) -> Prompt:
        speeds = [name for name in line.controls if name.startswith(_SPEECH_CONTROLS)]
        found = self._vocabulary.code_prompt(
            ids,
            speeds or [DEFAULT_SPEED],
            speaker.transcript,
            speaker=speaker.vector is not None,
        )
        return Prompt(found.ids, found.speaker_at, speaker.vector, speaker.sample)

    def _pieces(self, text: str) -> list[str | int]:
        """The script with its marks as tokens; `script` lets no bracket stand for anything else."""
        pieces: list[str | int] = []
        for index, part in enumerate(_MARK.split(text)):
            pieces.append(self._vocabulary.token(part) if index % 2 else part)
        return pieces

    def _advance(self, speeches: Sequence[Speech], active: Sequence[Utterance]) -> list[int]:
        """One step of the loop; returns the utterances whose text it refined."""
        rows: dict[int, Take | Refining] = {
            take.row: take for speech in speeches for take in speech.takes if not take.ended
        }
        refined = []
        for utterance in active:
            refining = self._refining.get(utterance.utterance_id)
            if refining is not None and not refining.ended:
                rows[refining.row] = refining
                refined.append(utterance.utterance_id)
        for step in self._loop.step(list(rows)):
            rows[step.row].advance(step)
        return refined

    def _decode(self, speeches: Sequence[Speech]) -> list[Samples]:
        """What leaves each speech now; all windows go through the vocoder in one call."""
        due = [speech.windows() for speech in speeches]
        windows = [window for found in due for _, window in found]
        decoded = iter(self._vocoder.decode(windows) if windows else [])
        left = []
        for speech, found in zip(speeches, due, strict=True):
            left.append(speech.audio([(row, next(decoded)) for row, _ in found]))
            for take in speech.takes:
                if take.error is not None:
                    self._loop.release(take.row)
        return left


def _begin_failed(error: Exception) -> EngineError:
    if not isinstance(error, EngineError):
        logger.error("an utterance could not begin\n%s", trace_of(error))
    return failure_of("beginning to speak failed", error)


def _best(takes: Sequence[Samples], expected: float) -> int:
    return rank([faults(take, SAMPLE_RATE, expected) for take in takes])[0]
