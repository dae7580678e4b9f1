"""Conversion of engine output to responses and stream chunks."""
