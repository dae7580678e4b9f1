"""Trace the sentences of a document to the checks and scenarios that test them."""
