"""Faults in streams."""
