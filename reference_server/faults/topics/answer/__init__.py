"""Faults in plain answers."""
