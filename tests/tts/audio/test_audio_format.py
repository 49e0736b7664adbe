"""What each format is called, contains and accepts."""

import pytest

from tts.audio.errors import UnsupportedBitrate, UnsupportedFormat, UnsupportedSampleRate
from tts.audio.format import AudioFormat


@pytest.mark.parametrize(
    ("name", "content_type"),
    [
        ("mp3", "audio/mpeg"),
        ("opus", "audio/ogg; codecs=opus"),
        ("aac", "audio/aac"),
        ("flac", "audio/flac"),
        ("wav", "audio/wav"),
        ("pcm", "audio/pcm;rate=24000;channels=1"),
    ],
)
def test_each_format_names_its_bytes(name: str, content_type: str) -> None:
    assert AudioFormat.parse(name).content_type() == content_type
    assert AudioFormat.parse(name).extension == name


def test_pcm_names_the_rate_it_was_asked_for() -> None:
    assert AudioFormat.PCM.content_type(16_000) == "audio/pcm;rate=16000;channels=1"


def test_an_unknown_format_is_told_which_there_are() -> None:
    with pytest.raises(UnsupportedFormat, match=r"mp3, opus, aac, flac, wav, pcm, not 'ogg'"):
        AudioFormat.parse("ogg")


def test_opus_refuses_a_rate_that_it_does_not_code() -> None:
    with pytest.raises(UnsupportedSampleRate, match=r"8000, 12000, 16000, 24000, 48000 Hz"):
        AudioFormat.OPUS.check_rate(44_100)


@pytest.mark.parametrize("audio_format", AudioFormat)
@pytest.mark.parametrize("rate", [0, -1, 7_999, 96_000])
def test_rates_outside_the_list_are_refused(audio_format: AudioFormat, rate: int) -> None:
    with pytest.raises(UnsupportedSampleRate, match=r"takes a sample rate of .*24000"):
        audio_format.check_rate(rate)


@pytest.mark.parametrize(
    ("audio_format", "rate", "bitrate"),
    [
        (AudioFormat.MP3, 24_000, 320_000),
        (AudioFormat.MP3, 8_000, 96_000),
        (AudioFormat.MP3, 48_000, 65_000),
        (AudioFormat.OPUS, 48_000, 5_000),
        (AudioFormat.AAC, 8_000, 64_000),
        (AudioFormat.FLAC, 24_000, 64_000),
        (AudioFormat.PCM, 24_000, 384_000),
    ],
)
def test_bitrates_that_a_codec_does_not_take_are_refused(
    audio_format: AudioFormat, rate: int, bitrate: int
) -> None:
    with pytest.raises(UnsupportedBitrate):
        audio_format.check_bitrate(bitrate, rate)


@pytest.mark.parametrize("audio_format", AudioFormat)
def test_the_default_bitrate_is_allowed_at_every_rate(audio_format: AudioFormat) -> None:
    for rate in audio_format.sample_rates:
        default = audio_format.default_bitrate(rate)
        assert audio_format.check_bitrate(None, rate) == default
        if default is not None:
            assert audio_format.check_bitrate(default, rate) == default
