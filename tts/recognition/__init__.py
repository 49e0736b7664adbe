"""Listening to speech: a recogniser, which is an optional extra, and how wrong it heard."""
