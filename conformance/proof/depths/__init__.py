"""What runs of each depth detect."""
