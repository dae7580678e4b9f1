"""Answers to latencies, tallies, objectives and validity."""
