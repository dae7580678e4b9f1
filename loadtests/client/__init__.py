"""The HTTP client: connections whose reads carry the time at which the bytes arrived."""
