"""The engine loop: scheduling, steps and the delivery of deltas."""
