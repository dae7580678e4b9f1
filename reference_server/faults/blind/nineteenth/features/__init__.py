"""Blind faults of media, structured output, log-probabilities, reasoning and streams."""
