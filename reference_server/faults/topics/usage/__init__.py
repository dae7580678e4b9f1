"""Faults in token counts."""
