"""Faults of servers that take images, videos and audio, by where a request has its files."""
