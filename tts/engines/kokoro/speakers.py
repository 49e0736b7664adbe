"""The speakers of Kokoro-82M v1.0 that speak Mandarin or English."""

import re
from collections.abc import Collection
from dataclasses import dataclass

from tts.engines.kokoro.gains import gain_of

_NAME = re.compile(r"(?P<accent>[abz])(?P<gender>[fm])_(?P<name>[a-z]+)")
_ACCENTS = {"a": ("en", "en-US"), "b": ("en", "en-GB"), "z": ("zh", "zh-CN")}
_GENDERS = {"f": "female", "m": "male"}
_COMPANIONS = {
    ("zh", "f"): "af_heart",
    ("zh", "m"): "am_michael",
    ("en", "f"): "zf_xiaoxiao",
    ("en", "m"): "zm_yunjian",
}
_HAN_NAMES = {
    "zf_xiaobei": "晓北",
    "zf_xiaoni": "晓妮",
    "zf_xiaoxiao": "晓晓",
    "zf_xiaoyi": "晓伊",
    "zm_yunjian": "云健",
    "zm_yunxi": "云希",
    "zm_yunxia": "云夏",
    "zm_yunyang": "云扬",
}

BUNDLED = (
    "af_heart",
    "am_michael",
    "bf_emma",
    "bm_george",
    "zf_xiaoxiao",
    "zf_xiaobei",
    "zm_yunjian",
    "zm_yunxi",
)
"""The packs in this project's `assets/voices.npz`."""


@dataclass(frozen=True, slots=True)
class Speaker:
    """One style pack. `companion` speaks the other language for it ("" where none is there).

    `accent` is a language tag such as "en-GB", `gain_db` what brings it to the
    platform's loudness.
    """

    speaker: str
    title: str
    languages: tuple[str, ...]
    accent: str
    gender: str
    companion: str
    gain_db: float


def is_british(speaker: str) -> bool:
    """Whether the speaker reads English with British sounds."""
    return speaker.startswith("b")


def speakers_of(names: Collection[str]) -> tuple[Speaker, ...]:
    """What `names` say of themselves, sorted: "zf_xiaobei" is Mandarin, female.

    Speakers of other languages (Japanese "jf_…", French "ff_…") are left out.
    """
    return tuple(
        _speaker(match, names) for name in sorted(names) if (match := _NAME.fullmatch(name))
    )


def _speaker(match: re.Match[str], names: Collection[str]) -> Speaker:
    speaker = match[0]
    language, accent = _ACCENTS[match["accent"]]
    companion = _COMPANIONS[language, match["gender"]]
    title = match["name"].capitalize()
    if speaker in _HAN_NAMES:
        title = f"{title} {_HAN_NAMES[speaker]}"
    return Speaker(
        speaker=speaker,
        title=title,
        languages=(language,),
        accent=accent,
        gender=_GENDERS[match["gender"]],
        companion=companion if companion in names else "",
        gain_db=gain_of(speaker),
    )
