"""Faults in which something that must not matter changes the answer."""
