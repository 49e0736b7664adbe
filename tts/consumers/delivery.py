"""What a socket's listener has taken, and the credit that follows from it."""

from tts.speech.session import SpeechSession


class Delivery:
    """Turns what was sent, or what the client says it heard, into credit."""

    def __init__(self) -> None:
        self.sent_ms = 0.0
        self._by_playback = False
        self._rate = 0
        self._sent = 0
        self._credited = 0

    async def sent(self, session: SpeechSession, samples: int, rate: int, seconds: float) -> None:
        """Samples went out; without positions from the client they are credit at once."""
        self._rate = rate
        self._sent += samples
        if not self._by_playback or self._credited == 0:
            self._credited += samples
            await session.delivered(samples, seconds)

    async def played(self, session: SpeechSession, milliseconds: float) -> None:
        """The client heard audio up to here; positions never run backwards or ahead."""
        self._by_playback = True
        heard = min(int(milliseconds * self._rate / 1000), self._sent)
        if heard > self._credited:
            samples, self._credited = heard - self._credited, heard
            await session.delivered(samples)

    def settle(self, session: SpeechSession) -> None:
        """At the end all that was sent counts as delivered."""
        session.account.samples_delivered += self._sent - self._credited
        self._credited = self._sent
