"""Scenarios that are generated from the contract with many parameters in each request."""
