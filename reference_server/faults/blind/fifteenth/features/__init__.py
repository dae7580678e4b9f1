"""Blind faults of media, structured output, log-probabilities, reasoning, streams and messages."""
