"""One loaded engine inside the core: its utterances by run, its failures, its end."""

import logging
from collections.abc import Iterable

from tts.engine.job import EngineKey
from tts.engine.request import VoiceSpec
from tts.engine.traces import trace_of
from tts.engines.base import SpeechEngine, StepResult, SynthesisParams, Utterance
from tts.text.segment import Segment

logger = logging.getLogger(__name__)


class EngineHost:
    """Calls an engine on the core's thread and remembers what it was given.

    `failures` counts whole steps that raised in a row; `broken` says that the
    engine takes nothing any more, `leaving` that it is being removed.
    """

    def __init__(self, key: EngineKey, engine: SpeechEngine) -> None:
        self.key = key
        self.traits = engine.traits
        self.failures = 0
        self.broken = False
        self.leaving = False
        self._engine = engine
        self._utterances: dict[int, Utterance] = {}
        self._runs: dict[int, int] = {}

    def __len__(self) -> int:
        return len(self._utterances)

    def __contains__(self, run_id: int) -> bool:
        return run_id in self._utterances

    @property
    def open(self) -> bool:
        """Whether it takes new requests."""
        return not (self.broken or self.leaving)

    def prepare(
        self, run_id: int, segment: Segment, voice: VoiceSpec, params: SynthesisParams
    ) -> Utterance:
        """Tokenise; raises what the engine raises."""
        utterance = self._engine.prepare(segment, voice, params)
        self._utterances[run_id] = utterance
        self._runs[utterance.utterance_id] = run_id
        return utterance

    def step(self, run_ids: Iterable[int]) -> list[tuple[int, StepResult]]:
        """Advance these runs; results of runs that are not known any more are dropped.

        Raises what the engine raises.
        """
        results = self._engine.step([self._utterances[run_id] for run_id in run_ids])
        known: list[tuple[int, StepResult]] = []
        for result in results:
            run_id = self._runs.get(result.utterance_id)
            if run_id is None:
                continue
            known.append((run_id, result))
            if result.finished or result.error is not None:
                self._forget(run_id)
        return known

    def release(self, run_id: int) -> None:
        """Make the engine forget a run; nothing if it ended by itself."""
        utterance = self._forget(run_id)
        if utterance is not None:
            try:
                self._engine.release(utterance)
            except Exception as error:  # noqa: BLE001 - it is forgotten all the same
                trace = trace_of(error)
                logger.error("engine %s failed to release an utterance\n%s", self.key, trace)

    def close(self) -> None:
        """Free the engine; it must have nothing to do any more."""
        try:
            self._engine.close()
        except Exception as error:  # noqa: BLE001 - it is gone all the same
            logger.error("engine %s failed to close\n%s", self.key, trace_of(error))

    def _forget(self, run_id: int) -> Utterance | None:
        utterance = self._utterances.pop(run_id, None)
        if utterance is not None:
            del self._runs[utterance.utterance_id]
        return utterance
