"""What own voices are made from: strings of a tiny model's speakers, and recordings."""

import io
import struct
import wave

import numpy as np

from tests.tts.engines.chattts.speaker_strings import embedding_encode, sample_encode
from tts.audio.encoder import StreamEncoder
from tts.audio.format import AudioFormat
from tts.audio.pcm import Samples, to_s16le

HIDDEN = 64
CODEBOOKS = 4
TRANSCRIPT = "Good morning, this is my voice."
CONSENT = "Anna Example, by letter of 2 January 2026"


def embedding(seed: int = 1) -> str:
    """A `spk_emb` string of the tiny model's width."""
    vector = np.random.default_rng(seed).standard_normal(HIDDEN)
    return embedding_encode(vector.astype(np.float32))


def sample(seconds: float = 3.0) -> str:
    """A `spk_smp` string."""
    tokens = round(seconds * 24_000 / 512)
    return sample_encode(np.random.default_rng(2).integers(0, 625, (CODEBOOKS, tokens)))


def voiced(seconds: float, rate: int, level: float = 0.2) -> Samples:
    """Something as loud as speech."""
    time = np.arange(round(seconds * rate)) / rate
    waves = sum(np.sin(2 * np.pi * 140 * part * time) / part for part in range(1, 9))
    return (level * np.asarray(waves) / 1.5).astype(np.float32)


def recording(
    seconds: float = 3.0,
    rate: int = 24_000,
    audio_format: AudioFormat = AudioFormat.WAV,
    level: float = 0.2,
) -> bytes:
    """An audio file."""
    with StreamEncoder(audio_format, rate, rate, stored=True) as encoder:
        encoder.encode(to_s16le(voiced(seconds, rate, level)))
        return encoder.finish()


def stereo(seconds: float = 3.0, rate: int = 44_100) -> bytes:
    """A WAV file whose one side is silent."""
    samples = np.frombuffer(to_s16le(voiced(seconds, rate, 0.5)), "<i2")
    both = np.stack([samples, np.zeros_like(samples)], axis=1)
    file = io.BytesIO()
    with wave.open(file, "wb") as written:
        written.setnchannels(2)
        written.setsampwidth(2)
        written.setframerate(rate)
        written.writeframes(both.tobytes())
    return file.getvalue()


def not_finite() -> bytes:
    """Three seconds of a WAV file of floats, some of which are no numbers."""
    samples = voiced(3.0, 24_000)
    samples[1_000:1_010] = np.nan
    data = samples.astype("<f4").tobytes()
    head = struct.pack("<4sI4s4sIHHIIHH", b"RIFF", 36 + len(data), b"WAVE", b"fmt ", 16, 3, 1,
                       24_000, 96_000, 4, 32)  # fmt: skip
    return head + struct.pack("<4sI", b"data", len(data)) + data
