"""Faults in structured output."""
