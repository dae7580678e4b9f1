"""Faults in what of the prompt the model reads."""
