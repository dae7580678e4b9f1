"""Compare two strings of which one may lack a piece of the other."""

from __future__ import annotations


def differ_by_one_gap(one: str, other: str, least: int, *, cut: bool) -> bool:
    """Tell whether one of two strings is the other with a single piece missing, as if a chunk was lost or repeated.

    least: how many characters must agree behind the missing piece. If fewer do, the answers just diverged.
    cut: both answers reached the same length limit, so a missing end counts too. Otherwise one may have ended earlier.
    """
    short, long = sorted((one, other), key=len)
    if len(short) == len(long) or len(short) < least:
        return False
    common = next((at for at, (mine, yours) in enumerate(zip(short, long, strict=False)) if mine != yours), len(short))
    rest = short[common:]
    return long.endswith(rest) and (len(rest) >= least or (cut and not rest))
