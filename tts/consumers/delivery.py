"""What a socket's listener has taken, and the credit that follows from it."""

from tts.speech.session import SpeechSession


class Delivery:
    """Counts audio as its frames leave; that, or what the client says it heard, is credit."""

    def __init__(self) -> None:
        self._session: SpeechSession | None = None
        self._seconds = 0.0
        self._sent = 0
        self._by_playback = False
        self._credited = 0

    @property
    def sent_ms(self) -> float:
        """The audio of all frames that have left."""
        return round(self._seconds * 1000, 1)

    def begin(self, session: SpeechSession) -> None:
        """Count for this session from now on."""
        self._session = session

    def leaving(self, seconds: float) -> None:
        """A frame with `seconds` of audio is on its way."""
        assert self._session is not None  # noqa: S101 - nothing leaves before `begin`
        account = self._session.account
        self._seconds += seconds
        sent = round(self._seconds * account.sample_rate)
        account.delivered(sent - self._sent)
        self._sent = sent

    async def credit(self) -> None:
        """Grant what has left, unless the client's positions do; the first audio always."""
        if not self._by_playback or self._credited == 0:
            await self._grant(self._sent)

    async def played(self, milliseconds: float) -> None:
        """The client heard audio up to here; positions never run backwards or ahead."""
        self._by_playback = True
        if self._session is not None:
            heard = milliseconds * self._session.account.sample_rate / 1000
            # A client may send more milliseconds than any whole number holds.
            await self._grant(int(min(heard, self._sent)))

    async def _grant(self, samples: int) -> None:
        more = samples - self._credited
        if more > 0 and self._session is not None:
            self._credited = samples
            await self._session.grant(more)
