"""Find answers that count several completion tokens and show nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from conformance.judge.token_counts import has_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from conformance.exchange import Exchange

THINKING: Final = frozenset(
    ("include_reasoning", "chat_template_kwargs", "thinking_token_budget", "reasoning_effort", "ignore_eos", "stop")
)
"""Fields with which an answer may count tokens that it does not show."""
SEVERAL: Final = 4  # tokens; one or two may be special ones, or parts of a character
FEW: Final = 0.1


def find_silent(
    answers: Iterable[tuple[Exchange, Mapping[str, Any]]], is_blank: Callable[[Exchange], bool]
) -> frozenset[str]:
    """Return the exchange ids of the answers that count several tokens and show nothing; none if they are many.

    Many are so if the server hides what the model thinks. A call that is cut off may be held back, and white space too.

    answers: each with the fields of its request. is_blank: whether another answer shows that the text is white space.
    """
    counted = [
        exchange
        for exchange, fields in answers
        if not fields.keys() & THINKING and _counts(exchange) and not _is_cut_call(exchange, fields)
    ]
    silent = [exchange.id for exchange in counted if not has_text(exchange) and not is_blank(exchange)]
    return frozenset(silent if len(silent) <= FEW * len(counted) else ())


def _counts(exchange: Exchange) -> bool:
    """Return whether an answer counts several tokens, and not all of them for reasoning."""
    usage = exchange.usage or {}
    details = usage.get("completion_tokens_details")
    thought = details.get("reasoning_tokens") if isinstance(details, dict) else None
    counted = usage.get("completion_tokens")
    return type(counted) is int and counted - (thought if type(thought) is int else 0) >= SEVERAL


def _is_cut_call(exchange: Exchange, fields: Mapping[str, Any]) -> bool:
    """Return whether the answer may be a call that the limit cuts off."""
    return bool(fields.get("tools")) and exchange.finish_reason() == "length"
