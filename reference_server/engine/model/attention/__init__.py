"""Attention over the key-value cache: masks, and how few tokens attend on a CPU."""
