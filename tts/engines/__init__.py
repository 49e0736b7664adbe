"""Speech engines behind one protocol: base, registry, one folder each. No Django."""
