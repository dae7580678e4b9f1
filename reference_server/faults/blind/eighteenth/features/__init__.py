"""Blind faults of structured output, streams and media."""
