"""Send a plan to a server, concurrently and within a budget."""
