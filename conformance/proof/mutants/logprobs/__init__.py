"""Mutants of log-probabilities."""
