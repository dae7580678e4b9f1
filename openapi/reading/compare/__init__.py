"""Facts of a page compared with the contract."""
