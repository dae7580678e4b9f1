"""Patches: texts of which one is the other with a piece lost, or a piece too many."""

from __future__ import annotations


def patched(one: str, other: str, least: int, *, cut: bool) -> bool:
    """Whether one of two texts is the other with one piece left out.

    So a lost or doubled chunk is told from an answer that went another way: behind the place at least `least`
    characters are the same again. Where both were cut off by the same limit (`cut`), a lost end counts, too; else the
    one may have ended where the other went on.
    """
    short, long = sorted((one, other), key=len)
    if len(short) == len(long) or len(short) < least:
        return False
    ahead = next((at for at, (mine, yours) in enumerate(zip(short, long, strict=False)) if mine != yours), len(short))
    rest = short[ahead:]
    return long.endswith(rest) and (len(rest) >= least or (cut and not rest))
