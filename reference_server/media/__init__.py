"""Media in requests: where they may come from, how they are fetched and decoded, and the limits of both."""
