"""An engine of pure tones: no weights, deterministic, with any cost and any failure on demand."""
