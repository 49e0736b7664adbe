"""Benchmarks of a whole platform on this machine: `manage.py bench`."""
