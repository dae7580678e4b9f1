"""Commands that compare deployments."""
