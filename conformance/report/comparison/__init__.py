"""Compare results of several deployments, and of several runs of one."""
