"""Faults in tool calls."""
