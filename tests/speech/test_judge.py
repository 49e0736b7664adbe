"""The judge judges: scores, numbers, strict decoding."""

import io

import av
import numpy as np
import pytest

from tests.speech.judge import DecodeError, decode
from tts.recognition.numerals import english_number, mandarin_number
from tts.recognition.recogniser import Recogniser, Samples, resample
from tts.recognition.scores import syllable_errors, word_errors


def sine(rate: int, seconds: float = 0.5) -> Samples:
    time = np.arange(round(rate * seconds)) / rate
    return (0.5 * np.sin(2 * np.pi * 440 * time)).astype(np.float32)


def encoded(container_format: str, codec: str, rate: int = 24_000) -> bytes:
    sink = io.BytesIO()
    with av.open(sink, "w", format=container_format) as container:
        stream = container.add_stream(codec, rate=rate, layout="mono")
        assert isinstance(stream, av.AudioStream)
        frame = av.AudioFrame.from_ndarray(sine(rate).reshape(1, -1), format="fltp", layout="mono")
        frame.sample_rate = rate
        converter = av.AudioResampler(format=stream.format, layout="mono", rate=rate)
        for piece in (*converter.resample(frame), None):
            container.mux(stream.encode(piece))
    return sink.getvalue()


@pytest.mark.parametrize(
    ("expected", "heard", "errors"),
    [
        ("Hello, there!", "hello there", 0.0),
        ("It costs one hundred five dollars.", "It costs 105 dollars", 0.0),
        ("one two three four", "one two four", 0.25),
        ("one two", "", 1.0),
    ],
)
def test_english_word_errors(expected: str, heard: str, errors: float) -> None:
    assert word_errors([expected], [heard]) == errors


@pytest.mark.parametrize(
    ("expected", "heard", "errors"),
    [
        ("今天去银行。", "今天去銀行", 0.0),
        ("我有三百四十五元", "我有345元", 0.0),
        ("二零二六年，百分之十", "2026年10%", 0.0),
        ("两百", "200", 0.0),
        ("他们", "她们", 0.0),
        ("打开WiFi吧", "打开wifi吧", 0.0),
        ("你好世界", "你好", 0.5),
    ],
)
def test_chinese_syllable_errors(expected: str, heard: str, errors: float) -> None:
    assert syllable_errors([expected], [heard]) == errors


def test_nothing_expected_is_a_mistake_of_the_test() -> None:
    with pytest.raises(ValueError, match="nothing to be heard in '你好'"):
        word_errors(["hello", "你好"], ["hello", "hello"])
    with pytest.raises(ValueError, match="nothing to be heard"):
        syllable_errors(["..."], ["你好"])


def test_texts_count_by_their_length() -> None:
    assert word_errors(["one", "one two three"], ["", "one two three"]) == 0.25


@pytest.mark.parametrize(
    ("number", "english", "mandarin"),
    [
        (0, "zero", "零"),
        (13, "thirteen", "十三"),
        (20, "twenty", "二十"),
        (110, "one hundred ten", "一百一十"),
        (1_005, "one thousand five", "一千零五"),
        (10_300, "ten thousand three hundred", "一万零三百"),
        (2_000_000, "two million", "二百万"),
    ],
)
def test_numbers_in_words(number: int, english: str, mandarin: str) -> None:
    assert " ".join(english_number(number)) == english
    assert mandarin_number(number) == mandarin


@pytest.mark.parametrize(
    ("container_format", "codec"), [("wav", "pcm_s16le"), ("mp3", "libmp3lame"), ("flac", "flac")]
)
def test_whole_files_decode(container_format: str, codec: str) -> None:
    audio, rate = decode(encoded(container_format, codec), container_format)
    assert rate == 24_000
    assert len(audio) / rate == pytest.approx(0.5, abs=0.1)
    assert float(np.sqrt(np.mean(audio**2))) == pytest.approx(0.35, abs=0.05)


def test_damage_is_refused() -> None:
    flac = bytearray(encoded("flac", "flac"))
    flac[-200] ^= 0xFF  # in the sound, not in the padding before it
    for damaged in (bytes(flac), b"", b"no audio at all" * 100):
        with pytest.raises(DecodeError):
            decode(damaged)
    with pytest.raises(DecodeError):
        decode(encoded("wav", "pcm_s16le"), "mp3")


def test_resampling_keeps_the_tone() -> None:
    audio = resample(sine(48_000), 48_000, 16_000)
    assert len(audio) == pytest.approx(8_000, abs=2)
    assert int(np.abs(np.fft.rfft(audio[:8_000])).argmax()) == 220  # bins of 2 Hz


@pytest.mark.speech
def test_silence_and_noise_are_heard_as_nothing(recogniser: Recogniser) -> None:
    noise = np.random.default_rng(1).normal(0.0, 0.05, 24_000).astype(np.float32)
    for audio in (np.zeros(24_000, dtype=np.float32), noise):
        assert recogniser.transcript(audio, 24_000, "en") == ""
