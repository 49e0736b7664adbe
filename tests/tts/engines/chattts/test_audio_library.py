"""vocos and ChatTTS are imported without torchaudio, and nothing else sees how."""

import os
import sys

import torch

from tts.engines.chattts.audio_library import MelSpectrogram, audio_library


def test_vocos_and_chattts_import() -> None:
    environment = dict(os.environ)
    with audio_library():
        import ChatTTS.model
        from vocos.feature_extractors import MelSpectrogramFeatures

        assert "torchaudio" in sys.modules
    left = [name for name in sys.modules if name.partition(".")[0] in ("torchaudio", "encodec")]
    assert [name for name in left if getattr(sys.modules[name], "__file__", None) is None] == []
    assert dict(os.environ) == environment
    mel = MelSpectrogramFeatures()(torch.sin(torch.arange(24_000) * 0.1))
    assert mel.shape[:1] == (100,)
    assert ChatTTS.model.DVAE.__name__ == "DVAE"


def test_mel_scale_is_htk() -> None:
    mel = MelSpectrogram(24_000, 1024, 256, 100, power=1)
    filters = mel.mel_scale.fb
    assert filters.shape == (513, 100)
    # 1,000 Hz is 1,000 mel on that scale: band 29 of 102 points up to 3,266 mel is at 937 mel.
    peak = int(filters[:, 30].argmax()) * 24_000 / 1024
    assert abs(2595 * torch.tensor(1 + peak / 700).log10() - 3266 * 31 / 101) < 15
