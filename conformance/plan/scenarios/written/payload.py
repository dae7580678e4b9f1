"""The parts of a request that the keys of a step describe in short: its text, raw body, cookie and token ids."""

from __future__ import annotations

from typing import Any


def message_text(row: dict[str, Any]) -> str:
    """Return the text of a step's only message."""
    if "pieces" not in row:
        return str(row["ask"] * row.get("times", 1))
    return "".join(piece if isinstance(piece, str) else piece[0] * piece[1] for piece in row["pieces"])


def cookie_field(size: int) -> dict[str, str]:
    """Return a header field with a cookie of a number of bytes; nothing for 0."""
    return {"Cookie": f"session={'0123456789abcdef' * (size // 16)}"} if size else {}


def first_tokens(number: int, bias: float | None) -> list[int] | dict[str, float]:
    """Return the token ids below a number, or the same bias for each of them."""
    return list(range(number)) if bias is None else {str(token): bias for token in range(number)}


def raw_body(row: dict[str, Any]) -> bytes | None:
    """Return the raw body of a step; None if it has none."""
    if "raw_hex" in row:
        return bytes.fromhex(row["raw_hex"])
    if "raw" not in row:
        return None
    deep = row.get("deep", 0)
    lists = "[" * deep + "]" * deep + "}" if deep else ""
    return f"{' ' * row.get('blanks', 0)}{row['raw']}{lists}".encode()
