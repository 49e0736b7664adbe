"""The voices that come with the engines, and OpenAI's names for them.

Gains bring each voice to -20 LUFS from what its engine gives by itself: Kokoro
speaks English at about -23 LUFS and Chinese at about -17; the tones are made at
one loudness. Kokoro's voices are those of its official release, Apache-2.0.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class VoiceSeed:
    """A public voice as `voices_sync` stores it; `companion` is another seed's name."""

    name: str
    display_name: str
    languages: tuple[str, ...]
    companion: str = ""
    gain_db: float = 0.0
    aliases: tuple[str, ...] = ()
    preview_text: str = ""
    speaker: str = ""


_ENGLISH = "The quick brown fox jumps over the lazy dog."
_CHINESE = "今天天气很好，我们一起去公园走走吧。"


def _english(name: str, shown: str, companion: str, *aliases: str) -> VoiceSeed:
    return VoiceSeed(name, shown, ("en",), companion, 3.0, aliases, _ENGLISH)


def _chinese(name: str, shown: str, companion: str) -> VoiceSeed:
    return VoiceSeed(name, shown, ("zh",), companion, -3.0, (), _CHINESE)


KOKORO = (
    _english("af_heart", "Heart", "zf_xiaoxiao", "alloy", "nova", "shimmer", "marin"),
    _english("am_michael", "Michael", "zm_yunjian", "ash", "echo", "onyx", "verse"),
    _english("bf_emma", "Emma", "zf_xiaobei", "coral", "sage"),
    _english("bm_george", "George", "zm_yunxi", "ballad", "fable", "cedar"),
    _chinese("zf_xiaoxiao", "晓晓 Xiaoxiao", "af_heart"),
    _chinese("zf_xiaobei", "晓北 Xiaobei", "bf_emma"),
    _chinese("zm_yunjian", "云健 Yunjian", "am_michael"),
    _chinese("zm_yunxi", "云希 Yunxi", "bm_george"),
)

# Tones speak every language alike. They carry OpenAI's names too: a first start
# without the bundled voices still answers every client.
TONE = (
    VoiceSeed("tone-a", "Tone A", ("en", "zh"), "", 0.0, ("alloy", "ash", "ballad", "coral")),
    VoiceSeed("tone-b", "Tone B", ("en", "zh"), "", 0.0, ("echo", "fable", "onyx", "nova")),
    VoiceSeed(
        "tone-c", "Tone C", ("en", "zh"), "", 0.0, ("sage", "shimmer", "verse", "marin", "cedar")
    ),
)
