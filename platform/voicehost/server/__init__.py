"""Daphne with backpressure, connections that end, and a stop that waits for streams."""
