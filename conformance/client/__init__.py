"""The HTTP client that records exchanges byte by byte; the only stage that uses the network to test a server."""
