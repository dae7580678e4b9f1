"""Mutants of media: they are dropped or confused, not counted, refused, or answered although they are broken."""
