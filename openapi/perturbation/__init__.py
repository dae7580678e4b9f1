"""Perturbations: changes of single facts of a contract, which show whether suite and server follow the contract."""
