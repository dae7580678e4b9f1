"""Faults in the effects of parameters."""
