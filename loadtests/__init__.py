"""Load tests that tell the truth: Locust with a clock of our own. Knows only a URL."""
