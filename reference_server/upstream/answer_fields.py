"""Parsing of the fields of an upstream's answer; an invalid field raises `BrokenAnswer`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from reference_server.engine import TokenLogprob
from reference_server.upstream.client.connection import BrokenAnswer

if TYPE_CHECKING:
    from collections.abc import Sequence

    from reference_server.engine import FinishReason
    from reference_server.upstream.request_translation import Json

FINISH_REASONS: Final[dict[str, FinishReason]] = {
    "stop": "stop",
    "eos_token": "stop",
    "eos": "stop",
    "length": "length",
    "tool_calls": "tool_calls",
    "function_call": "tool_calls",
    "repetition": "repetition",
}
MAX_TOKENS: Final = 2**40


def read_text(value: object) -> str:
    """Return a string, empty if it is missing.

    Raises BrokenAnswer for any other value, because omitting it would change the answer.
    """
    if value is None or isinstance(value, str):
        return value or ""
    raise BrokenAnswer("the answer has a value that is not a string in place of text", begun=True)


def is_count(value: Any) -> bool:
    """Whether a value is a plausible number of tokens."""
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < MAX_TOKENS


def read_prompt_tokens(usage: object) -> int | None:
    """Return the number of prompt tokens in a usage object; None if it is unknown. Every prompt has a token."""
    count: Any = usage.get("prompt_tokens") if isinstance(usage, dict) else None
    return count if is_count(count) and count > 0 else None


def read_finish_reason(value: object) -> FinishReason | None:
    """Return the engine's finish reason for the upstream's, None if it is missing; raise BrokenAnswer if unknown."""
    if value is None or value == "":
        return None
    if not isinstance(value, str) or value not in FINISH_REASONS:
        raise BrokenAnswer("the answer has an unknown finish_reason", begun=True, quoted=str(value))
    return FINISH_REASONS[value]


def read_stop_reason(row: Json, stops: Sequence[str]) -> str | int | None:
    """Return the stop string of the request, or the id of the stop token, that ended the choice; None if unknown."""
    value = row.get("stop_reason")
    return value if is_count(value) or value in stops else None


def split_by_token(text: str, logprobs: list[TokenLogprob]) -> list[tuple[str, TokenLogprob | None]]:
    """Pair each token with its text. If the tokens do not add up to the text, the last one gets all of it."""
    if "".join(logprob.text for logprob in logprobs) == text:
        return [(logprob.text, logprob) for logprob in logprobs]
    return [("" if at < len(logprobs) - 1 else text, logprob) for at, logprob in enumerate(logprobs)]


def read_logprobs(value: object, most: int) -> list[TokenLogprob]:
    """Return the entries of a logprobs object, with at most this number of alternatives; invalid entries are skipped.

    Some upstreams list more alternatives than requested, such as the sampled token or a minimum of their own.
    """
    content = value.get("content") if isinstance(value, dict) else None
    rows = content if isinstance(content, list) else []
    return [_read_logprob(row, most) for row in rows if isinstance(row, dict)]


def _read_logprob(row: Json, most: int) -> TokenLogprob:
    value, data, top = row.get("logprob"), row.get("bytes"), row.get("top_logprobs")
    byte_values = data if isinstance(data, list) and all(is_count(byte) and byte < 256 for byte in data) else None
    alternatives = [item for item in (top if isinstance(top, list) else ())[:most] if isinstance(item, dict)]
    return TokenLogprob(
        read_text(row.get("token")),
        None if byte_values is None else bytes(byte_values),
        float(value) if isinstance(value, (int, float)) else 0.0,
        tuple(_read_logprob(alternative, 0) for alternative in alternatives),
    )
