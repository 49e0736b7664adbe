"""Text to segments: language spans, normalisation, splitting. Pure Python, no Django."""
