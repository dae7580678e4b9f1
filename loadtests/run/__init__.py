"""The life of one load test inside Locust."""
