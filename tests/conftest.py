"""Fixtures for every test."""

import os

# The recogniser and the engines bring their own thread pools: two cores are shared by two workers.
os.environ.setdefault("OMP_NUM_THREADS", "1")

pytest_plugins = ["tests.speech.fixtures", "tests.e2e.speech_fixtures", "tests.e2e.bad_input"]
