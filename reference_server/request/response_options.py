"""Options of a request that decide which optional fields its response has."""

from __future__ import annotations

import json
import secrets
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from reference_server.errors import ApiError

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True, slots=True)
class ResponseOptions:
    """Optional content of a response, present only if the request asks for it.

    usage: send the usage chunk that some dialects send in streams only on request.
    continuous_usage: report the usage so far in every chunk.
    stream_interval: minimum number of tokens in a chunk, except in the last chunk of a choice.
    obfuscation: add random characters to chunks, so that their size does not reveal the size of their text.
    token_ids: report the token ids of the prompt and the choices.
    prompt_text: report the prompt as text.
    weight_versions: report which version of the weights generated the tokens.
    tokens_as_ids: write tokens in log-probabilities as `token_id:` and the id.
    reasoning: show the reasoning.
    echo: text at the beginning of every choice.
    request_id: id that the client gave its request.
    service_tier: how the request is processed, if the dialect reports it.
    """

    usage: bool = False
    continuous_usage: bool = False
    stream_interval: int = 1
    obfuscation: bool = False
    token_ids: bool = False
    prompt_text: bool = False
    weight_versions: bool = False
    tokens_as_ids: bool = False
    reasoning: bool = True
    echo: str = ""
    request_id: str | None = None
    service_tier: str | None = None


MAX_REQUEST_ID_LENGTH: Final = 256
TIERS: Final = {"auto": "default", "scale": "default", "fast": "priority"}
"""Tiers that this server reports by another name: it has three tiers, and a response names the one that was used."""
OBFUSCATION_BLOCK: Final = 32


def obfuscation_padding(text: str) -> str:
    """Return random characters that fill the text, as JSON, up to a positive multiple of OBFUSCATION_BLOCK bytes."""
    length = -len(json.dumps(text)) % OBFUSCATION_BLOCK
    return secrets.token_urlsafe(OBFUSCATION_BLOCK)[:length]


def read_response_options(given: Mapping[str, Any]) -> ResponseOptions:
    """Read the options from a request's parameters, with documented defaults filled in. Raises ApiError."""
    stream_options = given.get("stream_options") or {}
    request_id, tier = given.get("request_id"), given.get("service_tier")
    if request_id is not None and len(request_id) > MAX_REQUEST_ID_LENGTH:  # it is part of every chunk
        words = f"request_id is longer than {MAX_REQUEST_ID_LENGTH} characters: shorten it"
        raise ApiError("invalid_request", words, param="request_id")
    usage = bool(stream_options.get("include_usage"))
    return ResponseOptions(
        usage=usage,
        continuous_usage=usage and bool(stream_options.get("continuous_usage_stats")),
        stream_interval=int(given.get("stream_interval") or 1),
        obfuscation=bool(stream_options.get("include_obfuscation")),
        token_ids=bool(given.get("return_token_ids")),
        prompt_text=bool(given.get("return_prompt_text")),
        weight_versions=bool(given.get("return_weight_versions")),
        tokens_as_ids=bool(given.get("return_tokens_as_token_ids")),
        reasoning=given.get("include_reasoning") is not False,
        request_id=request_id,
        service_tier=None if tier is None else TIERS.get(tier, tier),
    )
