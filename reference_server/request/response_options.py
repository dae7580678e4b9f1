"""Telling: what a request wants told about its answer, beside what the model says."""

from __future__ import annotations

import json
import secrets
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from reference_server.errors import ApiError

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True, slots=True)
class Telling:
    """What stands in an answer or a stream only where the request asks for it.

    usage: the usage that some dialects send in streams on request only. every_usage: each chunk holds it so far.
    interval: so many tokens stand in a chunk at least, but in the last of a choice.
    obfuscation: whether chunks carry random characters, so that their size does not tell that of their text.
    token_ids: whether prompt and choices are told as token ids. prompt_text: whether the prompt is told as text.
    weight_versions: whether it is told which weights made the tokens.
    tokens_as_ids: whether log-probabilities name tokens as `token_id:` and the id.
    reasoning: whether thoughts are shown. echo: text that every choice begins with.
    name: that the client gave its request.
    tier: how the request is processed, where the dialect tells that.
    """

    usage: bool = False
    every_usage: bool = False
    interval: int = 1
    obfuscation: bool = False
    token_ids: bool = False
    prompt_text: bool = False
    weight_versions: bool = False
    tokens_as_ids: bool = False
    reasoning: bool = True
    echo: str = ""
    name: str | None = None
    tier: str | None = None


LONGEST_NAME: Final = 256
TIERS: Final = {"auto": "default", "scale": "default", "fast": "priority"}
"""Tiers that this server knows by another name: it has three, and an answer tells which one it was."""
DISGUISE: Final = 32


def disguise(text: str) -> str:
    """Random characters; with them a text takes a whole number of times DISGUISE bytes as JSON, at least once."""
    length = -len(json.dumps(text)) % DISGUISE
    return secrets.token_urlsafe(DISGUISE)[:length]


def telling(given: Mapping[str, Any]) -> Telling:
    """What a request wants told; given: its parameters with their documented defaults. Raises ApiError."""
    options = given.get("stream_options") or {}
    name, tier = given.get("request_id"), given.get("service_tier")
    if name is not None and len(name) > LONGEST_NAME:  # it is part of every chunk
        words = f"request_id is longer than {LONGEST_NAME} characters: shorten it"
        raise ApiError("invalid_request", words, param="request_id")
    usage = bool(options.get("include_usage"))
    return Telling(
        usage=usage,
        every_usage=usage and bool(options.get("continuous_usage_stats")),
        interval=int(given.get("stream_interval") or 1),
        obfuscation=bool(options.get("include_obfuscation")),
        token_ids=bool(given.get("return_token_ids")),
        prompt_text=bool(given.get("return_prompt_text")),
        weight_versions=bool(given.get("return_weight_versions")),
        tokens_as_ids=bool(given.get("return_tokens_as_token_ids")),
        reasoning=given.get("include_reasoning") is not False,
        name=name,
        tier=None if tier is None else TIERS.get(tier, tier),
    )
