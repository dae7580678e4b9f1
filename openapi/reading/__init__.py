"""Vendor pages turned into facts, which are compared with the contract or written as a dialect's delta."""
