"""The load client measured against a server with known timings."""
