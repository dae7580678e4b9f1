"""Token counts: whether they add up, and whether they show that the whole prompt reached the model."""
