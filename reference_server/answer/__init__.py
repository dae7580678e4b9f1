"""Engine output to response objects and chunks."""
