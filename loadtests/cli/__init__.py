"""The commands of the load tests."""
