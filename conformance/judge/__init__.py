"""Recorded exchanges to findings, without I/O."""
