"""Prove sentences of a document: a server that breaks one is reported, and one that keeps it unusually is not."""
