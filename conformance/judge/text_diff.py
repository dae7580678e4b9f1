"""Patches: texts of which one is the other with a piece lost, or a piece too many."""

from __future__ import annotations


def patched(one: str, other: str, least: int, *, cut: bool) -> bool:
    """Whether one of two texts is the other with a single piece missing, as when a chunk is lost or comes twice.

    Behind the missing piece the texts must agree for at least `least` characters: otherwise one answer simply went
    another way. cut: the same limit cut both off. Then a missing end counts too; else one may just have ended sooner.
    """
    short, long = sorted((one, other), key=len)
    if len(short) == len(long) or len(short) < least:
        return False
    ahead = next((at for at, (mine, yours) in enumerate(zip(short, long, strict=False)) if mine != yours), len(short))
    rest = short[ahead:]
    return long.endswith(rest) and (len(rest) >= least or (cut and not rest))
