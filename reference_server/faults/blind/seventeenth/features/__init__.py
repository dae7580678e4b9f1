"""Blind faults of media, structured output, log-probabilities and streams."""
