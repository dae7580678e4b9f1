"""Streams: their transport, the order of their events, their chunks and their deltas."""
