"""A running test: its settings, its life cycle, the load generator and the distribution of work over processes."""
