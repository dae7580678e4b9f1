"""The HTTP client that records exchanges byte by byte; the only package that connects to the server under test."""
