"""One dialect of the contract: its files read, resolved, checked and typed."""
