"""The contract that this server serves: a dialect's contract without the capabilities that the server lacks."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from openapi.description.description import REQUEST, describe

if TYPE_CHECKING:
    from openapi.contract.contract import Contract

UNSUPPORTED_CAPABILITIES: Final = frozenset(
    {
        *("audio", "moderation"),
        *("prompt_cache", "storage", "watermarking", "web_search"),
        *("disaggregation", "extensions"),
    }
)
"""Capabilities that the server does not have. Neutral values are accepted, all others are refused by name."""

TEXT_ONLY: Final = frozenset({"media", "media_urls", "media_paths"})
"""What a server lacks if its model reads text only, or nothing is installed that decodes media."""

SUPPORTED_PARAMETERS: Final = frozenset(
    {
        *("stop", "stop_token_ids", "include_stop_str_in_output"),
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
        *("media_io_kwargs", "mm_processor_kwargs"),  # refused by name
    }
)
"""Parameters of capabilities that the server reads.

If a dialect assigns a further parameter to a capability, the server lacks the capability in that dialect.
"""


def served_contract(contract: Contract, *, bearer: bool, lacking: frozenset[str] = frozenset()) -> Contract:
    """Return the contract that the server serves and describes.

    bearer: whether the operator requires a key, even if the dialect does not.
    lacking: capabilities that the model does not have, or that the operator turned off.
    """
    unread = {
        parameter.capability
        for parameter in contract.parameters.values()
        if parameter.capability and parameter.name not in SUPPORTED_PARAMETERS
    }
    served = contract.without(UNSUPPORTED_CAPABILITIES | unread | lacking | (set() if bearer else {"auth"}))
    return replace(served, auth="bearer") if bearer else served


def describe_served(served: Contract, model: str) -> dict[str, Any]:
    """Return the OpenAPI document of the served contract, with the one model name that requests may use.

    It states the bounds that this server enforces, so that no request that fits it is refused for its form.
    """
    document = describe(replace(served.with_server_limits(), default_model=model))  # the examples name the model too
    document["components"]["schemas"][REQUEST]["properties"]["model"]["enum"] = [model]
    return document
