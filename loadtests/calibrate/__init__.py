"""Calibration: measurements of the load client against a server with known timings."""
