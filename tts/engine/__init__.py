"""The batching engine: requests in, audio events out. Pure Python, no Django."""
