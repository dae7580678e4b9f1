"""Error responses: which requests the server refuses, and what the refusal contains."""
