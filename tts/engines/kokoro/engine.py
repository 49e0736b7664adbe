"""The Kokoro engine: an UTTERANCE engine for Mandarin and English at 24 kHz."""

import itertools
import logging
import math
import threading
from collections.abc import Callable, Sequence

from tts.engine.errors import NothingToSpeak, VersionUnavailable, VoiceUnavailable
from tts.engine.request import Profile, VoiceSpec
from tts.engine.traces import trace_of
from tts.engines.base import (
    Device,
    EngineKind,
    EngineTraits,
    Shards,
    StepResult,
    SynthesisParams,
    Utterance,
)
from tts.engines.kokoro import SAMPLE_RATE
from tts.engines.kokoro.manifest import missing_packages
from tts.engines.kokoro.model import (
    DistilledModel,
    FullModel,
    StylePacks,
    Vocabulary,
)
from tts.engines.kokoro.phonemes import phonemiser
from tts.engines.kokoro.speakers import Speaker, speakers_of
from tts.engines.kokoro.speech import Line, Models, Script, seed_of, speak
from tts.engines.pool import CancelToken, Emit, UtterancePool
from tts.text.segment import Language, LanguageSpan, Segment

DISTILLED_SPEAKER = "af_heart"
"""The voice that the distilled net speaks, and only in English."""

EDGE_SECONDS = 0.5
"""About how much silence the full model puts around an utterance."""
_SECONDS_PER_CHARACTER = {Language.ZH: 0.225, Language.EN: 0.06}

logger = logging.getLogger(__name__)


class KokoroEngine:
    """Speaks with the full model, or with the distilled one where that can serve.

    `Profile.REALTIME` speaks text wholly in English by plain `af_heart` with the
    distilled net (real-time factor 0.01 instead of 0.4); everything else is the
    full model's, which is loaded, in the pool, when it is first needed.
    """

    traits = EngineTraits(
        kind=EngineKind.UTTERANCE,
        sample_rate=SAMPLE_RATE,
        languages=tuple(Language),
    )

    def __init__(self) -> None:
        self._ids = itertools.count(1)
        self._started: set[int] = set()

    def load(
        self,
        shards: Shards,
        device: Device,
        profile: Profile,
        notify: Callable[[], None],
        numbers: Profile | None = None,
    ) -> None:
        """Read vocabulary and voices, and in REALTIME the distilled net; raises VersionUnavailable.

        Dictionaries are loaded by a thread of their own: until they are there (about
        two seconds) utterances wait in the pool.
        """
        del numbers  # its nets have one format each
        missing = missing_packages()
        if missing:
            raise VersionUnavailable(f"Kokoro needs {', '.join(missing)}, which is not installed")
        self._profile = profile
        self._models = Models(
            vocabulary=shards.resident(
                "vocab", "kokoro-vocabulary", lambda: Vocabulary(bytes(shards.read("vocab")))
            ),
            packs=shards.resident(
                "voices", "kokoro-packs-float32", lambda: StylePacks(bytes(shards.read("voices")))
            ),
            full=lambda: shards.resident(
                "full", "onnx-cpu", lambda: FullModel(bytes(shards.read("full")))
            ),
            distilled=shards.resident(
                "distilled", "onnx-cpu", lambda: DistilledModel(bytes(shards.read("distilled")))
            )
            if profile is Profile.REALTIME
            else None,
        )
        self._pool = UtterancePool(device.threads, notify)
        self._warm_up = threading.Thread(target=_warm_up, name="kokoro-warm-up", daemon=True)
        self._warm_up.start()

    def prepare(self, segment: Segment, voice: VoiceSpec, params: SynthesisParams) -> Utterance:
        """Decide who speaks which span; raises VoiceUnavailable, NothingToSpeak.

        The phonemes are found in the pool, since a dictionary may still be loading.
        """
        spans = [span for span in segment.spans if any(c.isalnum() for c in span.spoken)]
        if not spans:
            raise NothingToSpeak("the segment has neither letters nor digits")
        lines = tuple(self._line(span, voice) for span in spans)
        script = Script(lines, seed_of(params.seed, segment.spoken), self._is_distilled(lines))
        return Utterance(
            utterance_id=next(self._ids),
            segment_index=segment.index,
            payload=script,
            expected_seconds=_expected_seconds(spans),
            cost_kind="distilled" if script.distilled else "full",
        )

    def step(self, active: Sequence[Utterance]) -> list[StepResult]:
        """Start what is new and return what has arrived, without waiting."""
        for utterance in active:
            if utterance.utterance_id not in self._started:
                self._started.add(utterance.utterance_id)
                self._pool.submit(utterance.utterance_id, self._run(utterance))
        results = self._pool.collect()
        self._started.difference_update(
            result.utterance_id for result in results if result.finished
        )
        return results

    def release(self, utterance: Utterance) -> None:
        """Forget the utterance; a running call of the model ends within half a second."""
        self._pool.cancel(utterance.utterance_id)
        self._started.discard(utterance.utterance_id)

    def close(self) -> None:
        """End what runs and wait for the threads."""
        self._pool.close()
        self._warm_up.join()

    def _run(self, utterance: Utterance) -> Callable[[Emit, CancelToken], None]:
        script = utterance.payload
        if not isinstance(script, Script):
            raise TypeError(f"not prepared by this engine: {type(script).__name__}")
        return lambda emit, token: speak(script, self._models, emit, token)

    def _is_distilled(self, lines: Sequence[Line]) -> bool:
        return self._profile is Profile.REALTIME and all(
            line.language is Language.EN
            and len(line.parts) == 1
            and line.parts[0].speaker == DISTILLED_SPEAKER
            for line in lines
        )

    def _line(self, span: LanguageSpan, voice: VoiceSpec) -> Line:
        for candidate in (voice, voice.companion):
            if candidate is not None and candidate.speaks(span.language):
                self._check(candidate)
                # The platform applies the voice's own gain to all of it afterwards.
                gain_db = candidate.gain_db - voice.gain_db
                return Line(span.language, span.spoken, candidate.parts, gain_db)
        able = [s.speaker for s in self._speakers() if span.language in s.languages]
        raise VoiceUnavailable(
            f"voice {voice.name!r} does not speak {span.language.value!r} and has no companion"
            f" that does; these do: {', '.join(able) or 'none'}"
        )

    def _check(self, voice: VoiceSpec) -> None:
        if any(part.payload for part in voice.parts):
            raise VoiceUnavailable(
                f"voice {voice.name!r} is an embedding; Kokoro speaks with its own speakers only"
            )
        known = self._models.packs.speakers
        unknown = [part.speaker for part in voice.parts if part.speaker not in known]
        if unknown or not voice.parts:
            raise VoiceUnavailable(
                f"voice {voice.name!r}: there is no speaker {', '.join(unknown) or 'given'};"
                f" there are: {', '.join(s.speaker for s in self._speakers())}"
            )
        if not all(math.isfinite(part.weight) and part.weight > 0 for part in voice.parts):
            raise VoiceUnavailable(f"voice {voice.name!r}: every weight of a mix is more than 0")

    def _speakers(self) -> list[Speaker]:
        return list(speakers_of(self._models.packs.speakers))


def _expected_seconds(spans: Sequence[LanguageSpan]) -> float:
    """From the mean pace of the bundled voices (`measure.py` prints it)."""
    spoken = (len(span.spoken) * _SECONDS_PER_CHARACTER[span.language] for span in spans)
    return EDGE_SECONDS + sum(spoken)


def _warm_up() -> None:
    for language in Language:
        try:
            phonemiser(language)
        except Exception as error:  # noqa: BLE001 - utterances meet it again and report it each
            trace = trace_of(error)
            logger.error("the %s dictionaries cannot be loaded\n%s", language.value, trace)
