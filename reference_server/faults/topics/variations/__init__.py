"""Variations that every document allows: checks must not report them."""
