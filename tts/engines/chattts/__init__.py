"""ChatTTS: its weights and modules, our step loop."""

ENGINE = "chattts"
"""Its name among engines."""
SAMPLE_RATE = 24_000
"""Hz, of Vocos' output."""
TOKEN_SAMPLES = 512
"""Samples a token: two mel frames of hop 256."""
EOS = 625
"""The audio token that ends an utterance when it comes in any codebook."""
