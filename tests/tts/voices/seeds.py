"""Kokoro's voices with gains that a test can count on."""

from dataclasses import replace

from tts.engines.kokoro.speakers import BUNDLED, speakers_of
from tts.voice_catalogue import kokoro_voices

KOKORO = tuple(
    replace(seed, gain_db=3.0 if "en" in seed.languages else -3.0)
    for seed in kokoro_voices(speakers_of(BUNDLED))
)
