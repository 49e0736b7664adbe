"""The audio formats a listener may ask for, and what each of them takes."""

from enum import StrEnum

from tts.audio.errors import UnsupportedBitrate, UnsupportedFormat, UnsupportedSampleRate

DEFAULT_RATE = 24_000

_ANY_RATES = (8_000, 11_025, 12_000, 16_000, 22_050, 24_000, 32_000, 44_100, 48_000)
# RFC 6716, section 2.1.3: Opus codes 8, 12, 16, 24 and 48 kHz and nothing between.
_OPUS_RATES = (8_000, 12_000, 16_000, 24_000, 48_000)

_MPEG1_KBPS = (32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320)
_MPEG2_KBPS = (8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160)


class AudioFormat(StrEnum):
    """A container with its codec; the value is OpenAI's `response_format`. Always mono."""

    MP3 = "mp3"
    OPUS = "opus"
    AAC = "aac"
    FLAC = "flac"
    WAV = "wav"
    PCM = "pcm"

    @classmethod
    def parse(cls, value: str) -> "AudioFormat":
        """The format called `value`; raises UnsupportedFormat naming those there are."""
        try:
            return cls(value)
        except ValueError:
            allowed = ", ".join(cls)
            raise UnsupportedFormat(
                f"response_format must be one of {allowed}, not {value!r}"
            ) from None

    @property
    def extension(self) -> str:
        """The ending of a file's name, without the dot."""
        return self.value

    @property
    def lossless(self) -> bool:
        """Whether decoding gives back the very samples that were encoded."""
        return self in _LOSSLESS

    @property
    def sample_rates(self) -> tuple[int, ...]:
        """The sample rates in Hz that this format takes, ascending."""
        return _OPUS_RATES if self is AudioFormat.OPUS else _ANY_RATES

    def content_type(self, rate: int = DEFAULT_RATE) -> str:
        """The media type of the bytes; only raw PCM has to name its rate in Hz."""
        if self is AudioFormat.PCM:
            return f"audio/pcm;rate={rate};channels=1"
        return _CONTENT_TYPES[self]

    def check_rate(self, rate: int) -> int:
        """`rate` (Hz) itself; raises UnsupportedSampleRate naming the allowed ones."""
        if rate not in self.sample_rates:
            allowed = ", ".join(map(str, self.sample_rates))
            # Without the wrong one: a client may send a number of 4,300 digits.
            raise UnsupportedSampleRate(f"{self} takes a sample rate of {allowed} Hz")
        return rate

    def default_bitrate(self, rate: int) -> int | None:
        """Bits per second where none is asked for; None where bitrate has no meaning.

        Speech in mono is transparent to most listeners at 64 kbit/s of MP3 or AAC
        at 24 kHz, and at 32 kbit/s of Opus.
        """
        if self is AudioFormat.OPUS:
            return 32_000
        if self is AudioFormat.MP3:
            return 96_000 if rate >= 32_000 else 64_000 if rate >= 16_000 else 32_000
        if self is AudioFormat.AAC:
            # An AAC frame of 1024 samples holds at most 6144 bits a channel.
            return min(96_000 if rate >= 32_000 else 64_000, 4 * rate)
        return None

    def check_bitrate(self, bitrate: int | None, rate: int) -> int | None:
        """`bitrate` (bit/s), or the default for `rate`; raises UnsupportedBitrate."""
        if bitrate is None:
            return self.default_bitrate(rate)
        if self.default_bitrate(rate) is None:
            raise UnsupportedBitrate(f"{self} is lossless and takes no bitrate")
        if self is AudioFormat.MP3:
            allowed = _mp3_bitrates(rate)
            if bitrate not in allowed:
                names = ", ".join(map(str, allowed))
                raise UnsupportedBitrate(
                    f"mp3 at {rate} Hz takes a bitrate of {names} bit/s, not {bitrate}"
                )
            return bitrate
        low, high = (6_000, 256_000) if self is AudioFormat.OPUS else (8_000, 6 * rate)
        if not low <= bitrate <= high:
            raise UnsupportedBitrate(
                f"{self} at {rate} Hz takes a bitrate of {low} to {high} bit/s, not {bitrate}"
            )
        return bitrate


def _mp3_bitrates(rate: int) -> tuple[int, ...]:
    """MPEG-1 from 32 kHz, MPEG-2 from 16 kHz, MPEG-2.5 (at most 64 kbit/s) below."""
    if rate >= 32_000:
        return tuple(1_000 * kbps for kbps in _MPEG1_KBPS)
    highest = 160 if rate >= 16_000 else 64
    return tuple(1_000 * kbps for kbps in _MPEG2_KBPS if kbps <= highest)


_LOSSLESS = frozenset({AudioFormat.FLAC, AudioFormat.WAV, AudioFormat.PCM})
_CONTENT_TYPES = {
    AudioFormat.MP3: "audio/mpeg",
    AudioFormat.OPUS: "audio/ogg; codecs=opus",
    AudioFormat.AAC: "audio/aac",
    AudioFormat.FLAC: "audio/flac",
    AudioFormat.WAV: "audio/wav",
}
