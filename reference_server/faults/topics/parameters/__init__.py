"""Faults in which the server accepts or refuses the wrong parameter values."""
