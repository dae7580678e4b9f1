"""Conversion of request bodies to engine input."""
