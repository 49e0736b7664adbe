"""ChatTTS's control tokens: never read aloud.

The vocabulary of ChatTTS 0.2.5 has 50 special tokens. In text they stand in
square brackets ("[uv_break]"); as plain words they are words.
"""

import re

CONTROL_TOKENS: frozenset[str] = frozenset(
    [
        *("Sasr", "Pasr", "Easr", "Stts", "Ptts", "Etts", "Sbreak", "Pbreak", "Ebreak"),
        *("uv_break", "v_break", "lbreak", "llbreak", "undefine", "laugh", "spk_emb", "empty_spk"),
        *("music", "pure"),
        *(f"break_{n}" for n in range(8)),
        *(f"laugh_{n}" for n in range(3)),
        *(f"oral_{n}" for n in range(10)),
        *(f"speed_{n}" for n in range(10)),
    ]
)
"""The names of all 50 tokens, without brackets."""

_NAMES = "|".join(sorted((re.escape(name) for name in CONTROL_TOKENS), key=len, reverse=True))

CONTROL_PATTERN: re.Pattern[str] = re.compile(
    rf"\[(?:{_NAMES}|(?:break|laugh|oral|speed)_\d{{1,3}})\]", re.IGNORECASE
)
"""A control token in its brackets; numbers out of range count too, no voice should read them."""
