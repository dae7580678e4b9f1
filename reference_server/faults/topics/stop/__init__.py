"""Faults in stop strings and stop tokens."""
