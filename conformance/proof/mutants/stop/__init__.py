"""Mutants of stop strings and stop tokens."""
