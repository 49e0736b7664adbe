"""Listeners who come one after another, and whether each one's audio is there in time."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import count
from time import perf_counter

from tts.engine.request import Profile
from tts.engines.base import Device, Shards
from tts.engines.chattts import SAMPLE_RATE
from tts.engines.chattts.bench.loaded import LoadedProfile
from tts.engines.chattts.lengths import TOKEN_SECONDS
from tts.engines.chattts.speech import Take

MOST_STREAMS = 32
TRIES_OF_ONE = 2
"""Before it is said that not even one listener's stream plays."""
UTTERANCES = 2
"""That each listener hears, so that all are there at once for the length of one at least."""
_PROMPT_TOKENS = 128
"""What a slot holds beside the tokens of an utterance."""


@dataclass(slots=True)
class Playback:
    """One utterance as its listener plays it, from `hold_back` seconds after its first audio on.

    `asked` is when it was wanted; `late` the most that any audio came after it was needed.
    """

    asked: float
    hold_back: float
    began: float | None = None
    seconds: float = 0.0
    late: float = 0.0

    def arrived(self, seconds: float, now: float) -> None:
        """So many seconds of audio came at `now`."""
        if self.began is None:
            self.began = now
        self.late = max(self.late, now - self._start - self.seconds)
        self.seconds += seconds

    @property
    def ends(self) -> float:
        """When the audio that has come will have been played."""
        return self._start + self.seconds

    @property
    def _start(self) -> float:
        return (self.asked if self.began is None else self.began) + self.hold_back


@dataclass(frozen=True, slots=True)
class Heard:
    """What `streams` listeners heard: the latest audio of any, and the longest wait for a first.

    `whole`: nothing was given up, for want of time or because some audio was late.
    """

    streams: int
    late: float
    waited: float
    whole: bool

    @property
    def plays(self) -> bool:
        """Whether everything was heard without an interruption."""
        return self.whole and self.late <= 0.0


@dataclass(slots=True)
class _Clock:
    """Time spent, and what was skipped because nobody had anything to compute."""

    began: float = field(default_factory=perf_counter)
    skipped: float = 0.0

    @property
    def now(self) -> float:
        return perf_counter() - self.began + self.skipped

    def skip_to(self, moment: float) -> None:
        self.skipped += max(0.0, moment - self.now)


class Crowd:
    """One profile, with a slot for each of `MOST_STREAMS` listeners."""

    def __init__(
        self, shards: Shards, profile: Profile, device: Device, tokens: int, hold_back: float
    ) -> None:
        """Load. Every utterance has `tokens`; players hold `hold_back` seconds of it back.

        Raises VersionUnavailable, MemoryError.
        """
        self.tokens, self.hold_back = tokens, hold_back
        self.loaded = LoadedProfile(
            shards, profile, device, MOST_STREAMS, positions=tokens + _PROMPT_TOKENS
        )

    @property
    def length(self) -> float:
        """Seconds of an utterance's audio, about: its last token has half a token less."""
        return self.tokens * TOKEN_SECONDS

    def play(self, streams: int, texts: Sequence[str], seconds: float) -> Heard:
        """Let so many listeners come within one utterance's length, each with its next text.

        The clock is that of computing, and jumps where nobody has anything to compute. Stops at
        the first audio that is late, and after `seconds`.
        """
        return _Session(self, streams, texts).run(seconds)

    def close(self) -> None:
        """Free weights and cache."""
        self.loaded.close()


class _Session:
    """One crowd: `_coming` holds when each stream wants its next utterance, and its number."""

    def __init__(self, crowd: Crowd, streams: int, texts: Sequence[str]) -> None:
        self._loaded, self._tokens, self._hold_back = crowd.loaded, crowd.tokens, crowd.hold_back
        self._streams, self._texts = streams, texts
        self._loop = crowd.loaded.loop
        self._numbers = count()
        self._coming = [(stream * crowd.length / streams, 0) for stream in range(streams)]
        self._takes: dict[int, Take] = {}
        self._playing: dict[int, tuple[Playback, int]] = {}
        self._heard: list[Playback] = []

    def run(self, seconds: float) -> Heard:
        """See Crowd.play."""
        clock, end = _Clock(), perf_counter() + seconds
        late = False
        while (self._takes or self._coming) and not late and perf_counter() < end:
            if not self._takes:
                clock.skip_to(min(self._coming)[0])
            self._admit(clock.now)
            late = self._step(clock)
        whole = not self._takes and not self._coming
        for row in self._takes:
            self._loop.release(row)
        heard = [*self._heard, *(playback for playback, _ in self._playing.values())]
        waits = [each.began - each.asked for each in heard if each.began is not None]
        most = max((each.late for each in heard), default=0.0)
        return Heard(self._streams, most, max(waits, default=0.0), whole)

    def _admit(self, now: float) -> None:
        for moment, heard in [each for each in self._coming if each[0] <= now]:
            self._coming.remove((moment, heard))
            number = next(self._numbers)
            text = self._texts[number % len(self._texts)]
            row = self._loop.join(self._loaded.generation(number, text, self._tokens))
            self._takes[row] = self._loaded.take(row)
            self._playing[row] = Playback(moment, self._hold_back), heard

    def _step(self, clock: _Clock) -> bool:
        """Compute once; says whether any audio was late."""
        chosen = self._loop.step(list(self._takes))
        for step in chosen:
            self._takes[step.row].advance(step)
        for row, samples in self._loaded.decode(self._takes[step.row] for step in chosen):
            self._playing[row][0].arrived(len(samples) / SAMPLE_RATE, clock.now)
        late = any(playback.late > 0.0 for playback, _ in self._playing.values())
        for row in [row for row, take in self._takes.items() if take.ended]:
            del self._takes[row]
            playback, heard = self._playing.pop(row)
            self._heard.append(playback)
            if heard + 1 < UTTERANCES:
                self._coming.append((playback.ends, heard + 1))
        return late


def most_streams(play: Callable[[int, float], Heard], seconds: float) -> tuple[Heard | None, bool]:
    """The largest crowd that plays, one listener first, then by halves; None if not even one does.

    `play` lets so many come, for so many seconds at most. A crowd that does not play is soon given
    up, and one that does takes as long as it is listened to: so nothing is found by counting up.
    Says also whether `seconds` were enough to know that no larger one plays.
    """
    end = perf_counter() + seconds
    best: Heard | None = None
    low, high, tried = 0, MOST_STREAMS + 1, 0
    while high - low > 1:
        left = end - perf_counter()
        if left <= 0.0:
            return best, False
        streams = (low + high) // 2 if low else 1
        heard = play(streams, left)
        tried += 1
        if heard.plays:
            best, low = heard, streams
        elif heard.late > 0.0:
            # What else a machine does for a moment must not say that nobody can listen at all.
            high = streams if low or tried == TRIES_OF_ONE else high
        else:
            return best, False  # the time was over in its midst
    return best, True
