"""The fixed gain of every bundled voice; `python -m tts.engines.kokoro.measure` measures them.

A speaker reads the same sentences of its language as every other; its gain is
what brings them, joined, to `TARGET_LUFS` (tts.audio.loudness, ITU-R BS.1770-4).
"""

GAIN_DB = {
    "af_heart": 2.4,
    "am_michael": 3.9,
    "bf_emma": -0.2,
    "bm_george": 1.5,
    "zf_xiaobei": 0.4,
    "zf_xiaoxiao": -3.5,
    "zm_yunjian": 0.9,
    "zm_yunxi": 1.5,
}
"""In dB, to -20 LUFS."""

DISTILLED_GAIN_DB = 3.4
"""Brings hibari's af_heart to the loudness of the full model's, so that both share one gain."""

_USUAL_MANDARIN_DB = 0.0
_USUAL_ENGLISH_DB = 2.0


def gain_of(speaker: str) -> float:
    """The measured gain of a bundled voice; for others what is usual in their language."""
    usual = _USUAL_MANDARIN_DB if speaker.startswith("z") else _USUAL_ENGLISH_DB
    return GAIN_DB.get(speaker, usual)
