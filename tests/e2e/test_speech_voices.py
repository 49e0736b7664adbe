"""Eight voices say eight texts at the same time."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from tests.e2e.speech_client import RATE, Pcm, SpeechClient, floats
from tests.e2e.speech_fixtures import PATIENT
from tests.speech.judge import ENGLISH_GATE, PINYIN_GATE
from tts.audio.loudness import loudness_lufs
from tts.recognition.recogniser import Recogniser

pytestmark = [pytest.mark.e2e, pytest.mark.speech, pytest.mark.xdist_group("platform")]

SEED = 11
# All but one speak with the full model, which is slow: the tier with room and patience for eight.
TIER = PATIENT
TEXTS = {
    "af_heart": "Nobody knew where the old captain had hidden the gold.",
    "am_michael": "Please bring the green umbrella tomorrow.",
    "bf_emma": "Our train leaves at seven, so we must hurry.",
    "bm_george": "The children are playing in the garden.",
    "zf_xiaobei": "今天天气很好。",
    "zf_xiaoxiao": "我们一起去公园走走吧。",
    "zm_yunjian": "明天上午我要去银行。",
    "zm_yunxi": "请问图书馆在哪里？",
}
ALONE = ("af_heart", "bm_george", "zf_xiaobei")


@pytest.fixture(scope="module")
def choir(patient: SpeechClient) -> dict[str, Pcm]:
    """What each voice was heard to say, all asked for at once."""
    with ThreadPoolExecutor(len(TEXTS)) as threads:
        asked = {
            voice: threads.submit(patient.pcm, text, voice=voice, seed=SEED, quality_tier=TIER)
            for voice, text in TEXTS.items()
        }
        return {voice: future.result() for voice, future in asked.items()}


@pytest.mark.parametrize("voice", TEXTS)
def test_each_says_its_own_text(choir: dict[str, Pcm], recogniser: Recogniser, voice: str) -> None:
    audio, text = floats(choir[voice]), TEXTS[voice]
    if voice.startswith("z"):
        assert recogniser.pinyin_error(audio, RATE, text) <= PINYIN_GATE
    else:
        assert recogniser.english_wer(audio, RATE, text) <= ENGLISH_GATE


@pytest.mark.parametrize("voice", ALONE)
def test_alone_each_sample_is_the_same(
    choir: dict[str, Pcm], patient: SpeechClient, voice: str
) -> None:
    alone = patient.pcm(TEXTS[voice], voice=voice, seed=SEED, quality_tier=TIER)
    assert np.array_equal(alone, choir[voice])


def test_all_are_equally_loud(choir: dict[str, Pcm]) -> None:
    levels = {voice: loudness_lufs(floats(pcm), RATE) for voice, pcm in choir.items()}
    assert max(levels.values()) - min(levels.values()) < 3.0, levels


def test_many_at_once_get_what_one_gets(speech: SpeechClient) -> None:
    text = "Under load nothing is dropped and nothing is cut short."
    alone = speech.pcm(text, seed=SEED)
    with ThreadPoolExecutor(8) as threads:
        crowd = list(threads.map(lambda _: speech.pcm(text, seed=SEED), range(8)))
    assert all(np.array_equal(pcm, alone) for pcm in crowd)
