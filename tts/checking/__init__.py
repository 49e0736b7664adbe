"""Listening to a version: every profile speaks, a recogniser hears, the rest is arithmetic."""
