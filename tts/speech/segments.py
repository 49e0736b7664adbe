"""The segments of a request, each within what its voice speaks."""

from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing

from tenants.principal import Principal
from tts.speech.account import SpeechAccount
from tts.speech.plan import Planner, SpeechPlan
from tts.speech.text import TextSource, WholeText
from tts.text.segment import Segment


class CheckedSegments:
    """Reads a text, notes its segments in the account and checks their languages.

    `error` is what ended the text early, once there are segments before it: it
    is to be raised when those have been spoken. Before the first segment it is
    raised at once.
    """

    def __init__(
        self, text: TextSource, planner: Planner, principal: Principal, account: SpeechAccount
    ) -> None:
        self.error: Exception | None = None
        self._text = text
        self._planner = planner
        self._principal = principal
        self._account = account

    async def read(self, plan: SpeechPlan, language: str | None) -> AsyncGenerator[Segment]:
        """The segments; raises TextError, LanguageNotSpoken, and what the text itself raises."""
        try:
            async with aclosing(self._checked(plan, language)) as segments:
                async for segment in segments:
                    self._account.segment_made(segment)
                    yield segment
        except Exception as error:
            if not self._account.segments:
                raise
            self.error = error

    async def _checked(self, plan: SpeechPlan, language: str | None) -> AsyncGenerator[Segment]:
        async with aclosing(self._text.segments(language, plan.routed.engine)) as segments:
            if plan.speaks_everything or not isinstance(self._text, WholeText):
                async for segment in segments:
                    if not plan.speaks_everything:
                        await self._planner.check_segment(plan, self._principal, segment)
                    yield segment
                return
            # One of them might be beyond the voice: better said before any audio.
            found = [segment async for segment in segments]
        for segment in found:
            await self._planner.check_segment(plan, self._principal, segment)
        for segment in found:
            yield segment


async def segments_chain(first: Segment, rest: AsyncIterator[Segment]) -> AsyncGenerator[Segment]:
    """`first`, and then the rest."""
    yield first
    async for segment in rest:
        yield segment
