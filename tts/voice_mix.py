"""The notation of voices in a request: a name, or a mix such as `af_heart(2)+zf_xiaoxiao(1)`.

    mix  = part *( "+" part )
    part = name [ "(" weight ")" ]

A name has letters, digits, '_', '.' and '-', at most 64 of them, and begins with
a letter or digit. A weight is a decimal number above 0 and at most 1000, 1 when
it is left out. Nothing else is allowed, spaces included.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from tts.engine.request import VoicePart, VoiceSpec
from tts.errors import VoiceMixInvalid, VoiceNotFound

MAX_PARTS = 8
MAX_WEIGHT = 1000.0
MAX_LENGTH = 640
NAME_PATTERN = r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}"
_NAME = re.compile(NAME_PATTERN)
_WEIGHT = re.compile(r"[0-9]{1,4}(?:\.[0-9]{1,6})?")


@dataclass(frozen=True, slots=True)
class NamedPart:
    """One voice of a mix, its weight, and where its name begins."""

    name: str
    weight: float
    position: int


def voice_mix_parse(text: str) -> tuple[NamedPart, ...]:
    """The parts of `text`, at least one.

    Raises VoiceMixInvalid for a mix that is written wrongly, and VoiceNotFound
    for any other text that cannot be a name, so that odd names learn nothing
    that an unknown one does not.
    """
    if "+" not in text and "(" not in text:
        if not _NAME.fullmatch(text):
            raise VoiceNotFound(text)
        return (NamedPart(text, 1.0, 0),)
    if len(text) > MAX_LENGTH:
        raise VoiceMixInvalid(f"longer than {MAX_LENGTH} characters", MAX_LENGTH)
    parts: list[NamedPart] = []
    position = 0
    while True:
        part, position = _part(text, position)
        parts.append(part)
        if len(parts) > MAX_PARTS:
            raise VoiceMixInvalid(f"more than {MAX_PARTS} voices", part.position)
        if position == len(text):
            return tuple(parts)
        if text[position] != "+":
            raise VoiceMixInvalid(f"expected '+', not {text[position]!r}", position)
        position += 1


def _part(text: str, start: int) -> tuple[NamedPart, int]:
    name = _NAME.match(text, start)
    if name is None:
        found = repr(text[start]) if start < len(text) else "the end"
        raise VoiceMixInvalid(f"expected a voice's name, not {found}", start)
    position = name.end()
    if position == len(text) or text[position] != "(":
        return NamedPart(name.group(), 1.0, start), position
    number = _WEIGHT.match(text, position + 1)
    if number is None:
        raise VoiceMixInvalid("expected a weight such as 2 or 0.5", position + 1)
    weight = float(number.group())
    if not 0.0 < weight <= MAX_WEIGHT:
        raise VoiceMixInvalid(
            f"a weight is above 0 and at most {MAX_WEIGHT:g}, not {number.group()}", position + 1
        )
    position = number.end()
    if position == len(text) or text[position] != ")":
        raise VoiceMixInvalid("expected ')' after the weight", position)
    return NamedPart(name.group(), weight, start), position + 1


def voice_mixed(found: Sequence[tuple[NamedPart, VoiceSpec]]) -> VoiceSpec:
    """The voice that the parts and their voices make together.

    It speaks the languages of all parts with the mean of their gains, weighted;
    its companion is that of the heaviest part. Whether embeddings can be mixed
    is for the engine to say.
    """
    weights: dict[tuple[str, bytes], float] = {}
    for part, voice in found:
        for inner in voice.parts:
            key = (inner.speaker, inner.payload)
            weights[key] = weights.get(key, 0.0) + part.weight
    total = sum(part.weight for part, _ in found)
    heaviest = max(found, key=lambda item: item[0].weight)[1]
    return VoiceSpec(
        name="+".join(f"{voice.name}({part.weight:g})" for part, voice in found),
        engine=heaviest.engine,
        parts=tuple(
            VoicePart(speaker, weight, payload) for (speaker, payload), weight in weights.items()
        ),
        languages=tuple(
            dict.fromkeys(language for _, voice in found for language in voice.languages)
        ),
        companion=heaviest.companion,
        gain_db=sum(part.weight * voice.gain_db for part, voice in found) / total,
    )
