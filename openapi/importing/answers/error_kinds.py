"""Assign the statuses that a page states to the kinds of errors, by the words next to them and by their meaning."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_MISSING: Final = (
    r"(?:not (?:found|exist\w*|served|available|supported|known)|unknown|no such|doesn't exist|unavailable)"
)
_CLIENT: Final = frozenset({400, 404, 409, 422})
WORDS: Final[tuple[tuple[str, frozenset[int], re.Pattern[str]], ...]] = tuple(
    (kind, frozenset(statuses), re.compile(words, re.IGNORECASE))
    for kind, statuses, words in (
        ("unknown_model", _CLIENT, rf"\bmodels?\b.*{_MISSING}|{_MISSING}.*\bmodels?\b|模型不存在"),
        ("unauthorized", {401, 403}, r"unauthori[sz]ed|authenticat|credential|\bkey\b|\btoken\b|认证|鉴权|密钥"),
        (
            "invalid_key",
            {401, 403},
            r"(?:wrong|invalid|bad|unknown|expired|revoked|incorrect)\b.*\b(?:key|token|credential)",
        ),
        ("too_large", {400, 413}, r"\b(?:body|request|payload|entity)\b.*\b(?:large|big|size)"),
        (
            "prompt_too_long",
            {400, 413, 422},
            r"\bcontext\b|\b(?:prompt|input|messages?)\b.*\b(?:too )?long\b|too many tokens",
        ),
        (
            "overloaded",
            {429, 503, 529},
            r"\brate|too many requests|overload|busy|capacity|quota|throttl|unavailable|限流|繁忙",
        ),
        ("method_not_allowed", {405}, r"\bmethods?\b"),
        ("unsupported_media_type", {415}, r"media type|content[- ]type"),
        ("not_found", {404}, r"\b(?:path|url|route|endpoint|page|resource)\b|not found"),
        ("engine_failure", {500, 502}, r"internal|server error|engine|unexpected|crash|内部"),
        ("invalid_json", _CLIENT, r"\bjson\b|malformed|syntax|\bpars(?:e|ing)\b|bad request|invalid requests?\b"),
        (
            "invalid_request",
            _CLIENT,
            r"invalid|bad request|validation|parameter|out of range|wrong|unprocessable|field|value|refused|rejected"
            r"|参数|非法",
        ),
    )
)
"""The words that stand for a kind of error, and the statuses that it may have."""
BY_NUMBER: Final[Mapping[int, tuple[str, ...]]] = {
    400: ("invalid_request", "invalid_json"),
    401: ("unauthorized", "invalid_key"),
    404: ("unknown_model", "not_found"),
    405: ("method_not_allowed",),
    413: ("too_large",),
    415: ("unsupported_media_type",),
    422: ("invalid_request",),
    429: ("overloaded",),
    500: ("engine_failure",),
    503: ("overloaded",),
}
"""The kinds of a status whose words stand for none."""


def assign_statuses(stated: Sequence[tuple[int, str]], known: Mapping[str, int]) -> tuple[dict[str, int], list[int]]:
    """Return the status of each kind that a page states, and the statuses that no kind has.

    stated: statuses with the words next to them. known: the kinds of the extended dialect with their statuses. A kind
    that the page does not state follows invalid requests if it has their status in the extended dialect.
    """
    kinds: dict[str, int] = {}
    placed: set[int] = set()
    for status, words in stated:
        for kind, statuses, pattern in WORDS:
            if status in statuses and pattern.search(words):
                placed.add(status)
                kinds.setdefault(kind, status)
    for status, _ in stated:
        if status not in placed:
            for kind in BY_NUMBER.get(status, ()):
                placed.add(status)
                kinds.setdefault(kind, status)
    if "invalid_request" in kinds:
        for kind, status in known.items():
            if status == known.get("invalid_request") and kind not in kinds:
                kinds[kind] = kinds["invalid_request"]
    if "unauthorized" in kinds:
        kinds.setdefault("invalid_key", kinds["unauthorized"])
    left = [status for status in dict.fromkeys(status for status, _ in stated) if status not in placed]
    return {kind: status for kind, status in kinds.items() if kind in known}, left
