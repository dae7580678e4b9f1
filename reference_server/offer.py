"""What this server offers: a dialect's contract less what the server lacks, plus the key it asks for."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from openapi.description import REQUEST, describe

if TYPE_CHECKING:
    from openapi.contract import Contract

LACKING: Final = frozenset(
    {
        *("tools", "media"),
        *("audio", "functions", "moderation"),
        *("obfuscation", "prediction", "prompt_cache", "prompt_logprobs", "refusals", "repetition_detection"),
        *("service_tiers", "storage", "structured_output", "verbosity", "watermarking", "web_search"),
        *("continuous_usage", "disaggregation", "extensions", "priority", "request_id", "stream_interval"),
        *("template", "token_output", "truncation"),
    }
)
"""Capabilities that the server has not got. Their neutral values are accepted, all others refused by name."""

READ: Final = frozenset(
    {
        *("n", "best_of", "use_beam_search", "length_penalty", "diversity_penalty", "logprobs", "top_logprobs"),
        *("max_completion_tokens", "min_tokens", "min_p", "logit_bias", "allowed_token_ids", "bad_words"),
    }
)
"""Parameters that the server reads, of those that belong to capabilities.

A dialect may count more parameters among a capability: then the server lacks it there.
"""


def served(contract: Contract, *, bearer: bool) -> Contract:
    """The contract that is served and described; `bearer`: the operator asks for a key, whatever the dialect says."""
    unread = {each.capability for each in contract.parameters.values() if each.capability and each.name not in READ}
    offered = contract.without(LACKING | unread)
    return replace(offered, auth="bearer") if bearer else offered


def description(offered: Contract, model: str) -> dict[str, Any]:
    """The OpenAPI document of what is served: the contract's, with the one model that requests may name."""
    document = describe(replace(offered, default_model=model))  # the examples name it too
    document["components"]["schemas"][REQUEST]["properties"]["model"]["enum"] = [model]
    return document
