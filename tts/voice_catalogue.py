"""The public voices of an engine's speakers, and OpenAI's names for them."""

from collections.abc import Iterable
from dataclasses import dataclass

from tts.engines.chattts.voice import Seed, material_pack
from tts.engines.kokoro.speakers import Speaker

CHATTTS_VOICES = 8
"""Their seeds are 1 to 8."""

OPENAI_NAMES = {
    "alloy": "af_heart",
    "ash": "am_michael",
    "ballad": "bm_george",
    "coral": "bf_emma",
    "echo": "am_michael",
    "fable": "bm_george",
    "onyx": "am_michael",
    "nova": "af_heart",
    "sage": "bf_emma",
    "shimmer": "af_heart",
    "verse": "am_michael",
    "marin": "af_heart",
    "cedar": "bm_george",
}
"""The names that clients of OpenAI's API send, and who answers to them."""

PREVIEWS = {
    "en": "The quick brown fox jumps over the lazy dog.",
    "zh": "今天天气很好，我们一起去公园走走吧。",
}


@dataclass(frozen=True, slots=True)
class VoiceSeed:
    """A public voice as `voices_sync` stores it; `companion` is another seed's name.

    `payload` is a random speaker's, where the model contains none.
    """

    name: str
    display_name: str
    languages: tuple[str, ...]
    companion: str = ""
    gain_db: float = 0.0
    aliases: tuple[str, ...] = ()
    preview_text: str = ""
    speaker: str = ""
    payload: bytes = b""


def kokoro_voices(speakers: Iterable[Speaker]) -> tuple[VoiceSeed, ...]:
    """A voice for each speaker, called what the model calls it."""
    return tuple(
        VoiceSeed(
            name=speaker.speaker,
            display_name=speaker.title,
            languages=speaker.languages,
            companion=speaker.companion,
            gain_db=speaker.gain_db,
            aliases=tuple(name for name, owner in OPENAI_NAMES.items() if owner == speaker.speaker),
            preview_text=PREVIEWS[speaker.languages[0]],
        )
        for speaker in speakers
    )


def tone_voices() -> tuple[VoiceSeed, ...]:
    """Three tones, which speak every language alike.

    They carry OpenAI's names too: a first start without the bundled voices
    still answers every client.
    """
    names = tuple(OPENAI_NAMES)
    shares = {"tone-a": names[:5], "tone-b": names[5:9], "tone-c": names[9:]}
    return tuple(
        VoiceSeed(
            name=name,
            display_name=name.replace("-", " ").title(),
            languages=("en", "zh"),
            aliases=aliases,
            preview_text=PREVIEWS["en"],
        )
        for name, aliases in shares.items()
    )


def chattts_voices() -> tuple[VoiceSeed, ...]:
    """Eight random speakers of every ChatTTS version, which share OpenAI's names."""
    numbers = range(1, CHATTTS_VOICES + 1)
    names = tuple(OPENAI_NAMES)
    return tuple(
        VoiceSeed(
            name=f"chattts_{number}",
            display_name=f"ChatTTS {number}",
            languages=("zh", "en"),
            aliases=names[number - 1 :: CHATTTS_VOICES],
            preview_text=PREVIEWS["zh"],
            payload=material_pack(Seed(number)),
        )
        for number in numbers
    )
