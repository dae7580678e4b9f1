"""Faults in log-probabilities."""
