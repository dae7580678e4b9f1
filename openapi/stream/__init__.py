"""Event streams on the wire: bytes, strict JSON, and the order of events. Nothing here depends on a dialect."""
