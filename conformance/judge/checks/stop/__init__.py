"""Stop strings and stop tokens: where they end the answer, and what they leave out of it."""
