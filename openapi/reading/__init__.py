"""A vendor's page becomes facts, and facts are held against the contract."""
