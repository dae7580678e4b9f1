"""Server-sent events: bytes, strict JSON, and the legal order of a stream."""
