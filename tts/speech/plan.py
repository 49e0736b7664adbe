"""Which tier, version and voice serve an order, and whether the key may have them."""

from dataclasses import dataclass

from models_registry.selectors import RoutedVersion
from tenants.principal import Principal, TierSpec
from tts.engine.request import Priority, Profile, SpeechRequest, VoiceSpec
from tts.speech.errors import LanguageNotSpoken
from tts.speech.order import SpeechOrder
from tts.speech.ports import Directory
from tts.text.segment import Language, Segment

CREDIT_SECONDS = 30


@dataclass(frozen=True, slots=True)
class SpeechPlan:
    """What serves a request, as of the configuration's `epoch`."""

    tier: TierSpec
    routed: RoutedVersion
    voice: VoiceSpec
    epoch: str

    @property
    def speaks_everything(self) -> bool:
        """Whether the voice, with its companion, speaks all languages there are."""
        return all(voice_speaks(self.voice, language) for language in Language)

    def request(self, order: SpeechOrder, principal: Principal, request_id: str) -> SpeechRequest:
        """The request as the engine takes it."""
        return SpeechRequest(
            request_id=request_id,
            tenant_id=principal.tenant_id,
            version=self.routed.version,
            profile=Profile(self.tier.profile),
            priority=Priority[self.tier.priority.value.upper()],
            voice=self.voice,
            speed=order.speed,
            seed=order.seed,
            max_queue_seconds=self.tier.max_queue_seconds,
            initial_credit_samples=self.routed.sample_rate * CREDIT_SECONDS,
            style=order.instructions,
        )


def voice_speaks(voice: VoiceSpec, language: str) -> bool:
    """Whether the voice or its companion speaks `language`."""
    if voice.speaks(language):
        return True
    return voice.companion is not None and voice.companion.speaks(language)


class Planner:
    """Makes plans from the configuration in force."""

    def __init__(self, directory: Directory) -> None:
        self._directory = directory

    async def epoch(self) -> str:
        """The configuration's epoch, as this process last saw it."""
        return await self._directory.epoch()

    async def plan(self, principal: Principal, order: SpeechOrder) -> SpeechPlan:
        """The plan for `order`; raises what the tier, model, voice and language checks raise."""
        directory = self._directory
        # Read first: a change that comes in between shows as a newer epoch later.
        epoch = await directory.epoch()
        routed = await directory.route(order.model, principal)
        tier = principal.tier_for(order.quality_tier, routed.default_tier or None)
        principal.check_model(routed.route, tier, is_public=routed.is_public)
        voice = await directory.voice(
            order.voice, tenant_id=principal.tenant_id, engine=routed.engine
        )
        plan = SpeechPlan(tier, routed, voice, epoch)
        if order.language is not None:
            await self.check_language(plan, principal, order.language)
        return plan

    async def check_segment(self, plan: SpeechPlan, principal: Principal, segment: Segment) -> None:
        """Raise LanguageNotSpoken when a language of `segment` is beyond the voice."""
        for language in segment.languages:
            await self.check_language(plan, principal, language)

    async def check_language(self, plan: SpeechPlan, principal: Principal, language: str) -> None:
        """Raise LanguageNotSpoken, naming voices that speak `language`."""
        if voice_speaks(plan.voice, language):
            return
        able = await self._directory.voices_speaking(
            language, tenant_id=principal.tenant_id, engine=plan.routed.engine
        )
        raise LanguageNotSpoken(plan.voice.name, language, able[:8])
