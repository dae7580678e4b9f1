"""Blind faults of media, structured output, log-probabilities, reasoning, streams, messages, literals and stops."""
