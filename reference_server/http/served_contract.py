"""What this server offers: a dialect's contract less what the server lacks, plus the key it asks for."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from openapi.description.description import REQUEST, describe

if TYPE_CHECKING:
    from openapi.contract.contract import Contract

LACKING: Final = frozenset(
    {
        *("media", "audio", "moderation"),
        *("prompt_cache", "storage", "watermarking", "web_search"),
        *("disaggregation", "extensions"),
    }
)
"""Capabilities that the server has not got. Their neutral values are accepted, all others refused by name."""

READ: Final = frozenset(
    {
        *("n", "best_of", "use_beam_search", "length_penalty", "diversity_penalty", "logprobs", "top_logprobs"),
        *("max_completion_tokens", "min_tokens", "min_p", "logit_bias", "allowed_token_ids", "bad_words"),
        *("logprob_token_ids", "return_tokens_as_token_ids", "prompt_logprobs", "request_id", "priority"),
        *("return_token_ids", "return_prompt_text", "return_weight_versions", "routed_experts_prompt_start"),
        *("spaces_between_special_tokens", "stream_interval", "repetition_detection", "verbosity", "service_tier"),
        *("truncate_prompt_tokens", "truncation_side"),
        *("echo", "add_generation_prompt", "continue_final_message", "add_special_tokens", "documents"),
        "chat_template",  # refused by name
        *("reasoning_effort", "thinking_token_budget", "include_reasoning"),
        *("tools", "tool_choice", "parallel_tool_calls", "response_format", "structured_outputs"),
        *("functions", "function_call", "prediction"),
    }
)
"""Parameters that the server reads, of those that belong to capabilities.

A dialect may count more parameters among a capability: then the server lacks it there.
"""


def served(contract: Contract, *, bearer: bool, lacking: frozenset[str] = frozenset()) -> Contract:
    """The contract that is served and described.

    bearer: the operator asks for a key, whatever the dialect says. lacking: what the model has not got.
    """
    unread = {
        parameter.capability
        for parameter in contract.parameters.values()
        if parameter.capability and parameter.name not in READ
    }
    offered = contract.without(LACKING | unread | lacking | (set() if bearer else {"auth"}))
    return replace(offered, auth="bearer") if bearer else offered


def description(offered: Contract, model: str) -> dict[str, Any]:
    """The OpenAPI document of what is served: the contract's, with the one model that requests may name."""
    document = describe(replace(offered, default_model=model))  # the examples name it too
    document["components"]["schemas"][REQUEST]["properties"]["model"]["enum"] = [model]
    return document
