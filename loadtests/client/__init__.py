"""The HTTP client of the load test, which timestamps every event of a stream."""
