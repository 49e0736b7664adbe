"""Audio after the engine: levels, joins, speed, resampling, encoding. Pure Python, no Django."""
