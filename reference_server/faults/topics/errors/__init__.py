"""Faults in error responses."""
