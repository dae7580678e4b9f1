"""Random contracts: judge the servers of perturbed contracts."""
