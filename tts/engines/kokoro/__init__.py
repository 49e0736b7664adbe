"""Kokoro-82M: small, multilingual, one style pack a voice; English also distilled.

KokoroEngine is in `engine`, what the bundled version consists of in `manifest`.
"""

SAMPLE_RATE = 24_000
"""Of both networks, in Hz."""
