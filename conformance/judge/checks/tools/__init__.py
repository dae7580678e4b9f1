"""Tool calls: whether the server calls tools, and the fields of the calls."""
