"""Blind faults that show only if two parameters are used together."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reference_server.faults.blind.recipes import dropping, fail, is_number, is_whole, messages_of, refusing, when
from reference_server.faults.decorators import choices_of, has_parameters, hooked_fault, message_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from openapi.contract.contract import Contract
    from reference_server.faults.hooks import CannedResponse, Json, ServedRequest

GREATEST = 2**31 - 1
STREAMED_TOOLS = ("tools", "logprobs")
WITH_STOP_IDS = ("min_tokens", "stop_token_ids")


def _streams(sent: Json) -> bool:
    return sent.get("stream") is True


def _several(sent: Json) -> bool:
    return is_whole(sent.get("n"), 2, GREATEST)


def _entries(choice: Json) -> list[Json]:
    scores = choice.get("logprobs")
    return (scores.get("content") or []) if isinstance(scores, dict) else []


def _no_scores(chunk: Json, request: ServedRequest) -> None:
    for choice in choices_of(chunk) if request.payload.get("stop") else ():
        if choice.get("logprobs"):
            choice["logprobs"] = None


def _run_on(answer: Json, request: ServedRequest) -> None:
    for choice in choices_of(answer) if request.payload.get("stop") else ():
        entries = _entries(choice)
        if entries and choice.get("finish_reason") == "stop":
            entries.append(dict(entries[-1]))


def _thin_out(response: Json, request: ServedRequest) -> None:
    top_p = request.payload.get("top_p")
    if not is_number(top_p, 0, 0.9):
        return
    for choice in choices_of(response):
        for entry in _entries(choice):
            entry["top_logprobs"] = (entry.get("top_logprobs") or [])[:1]


def _eat(answer: Json, request: ServedRequest) -> None:
    if request.payload.get("stop_token_ids") and request.payload.get("skip_special_tokens") is not False:
        for choice in choices_of(answer):
            if choice.get("finish_reason") == "stop" and message_of(choice).get("content"):
                message_of(choice)["content"] = message_of(choice)["content"][:-1]


def _uses_results(sent: Json) -> bool:
    return _streams(sent) and any(message.get("role") == "tool" for message in messages_of(sent))


def _thinks(sent: Json) -> bool:
    keywords = sent.get("chat_template_kwargs")
    asked = keywords.get("enable_thinking") if isinstance(keywords, dict) else None
    return bool(asked or sent.get("reasoning_effort"))


def _larger(request: ServedRequest) -> CannedResponse | None:
    limits = [request.payload[name] for name in ("max_tokens", "max_completion_tokens")]
    request.payload.update(max_tokens=max(limits), max_completion_tokens=max(limits))
    return None


def _is_both(sent: Json) -> bool:
    return all(is_whole(sent.get(name), 1, GREATEST) for name in ("max_tokens", "max_completion_tokens"))


def _penalised(sent: Json) -> bool:
    return any(sent.get(name) for name in ("presence_penalty", "frequency_penalty"))


def _lacks_rule(rule: str, *parameters: str) -> Callable[[Contract], bool]:
    """Apply a fault to dialects that have these parameters, and that do not forbid their combination by a rule."""
    return lambda contract: rule not in contract.rules and set(parameters) <= set(contract.parameters)


stop_and_logprobs_refused = when(
    "stop-and-logprobs-refused",
    "A plain request with stop and logprobs is refused.",
    lambda sent: bool(sent.get("stop") and sent.get("logprobs")) and not _streams(sent),
    refusing("internal lists have different lengths"),
    applies_to=has_parameters("logprobs"),
)
streams_with_stop_lack_logprobs = hooked_fault(
    "streams-with-stop-lack-logprobs",
    "Streams have no log-probabilities if there is a stop string.",
    chunk=_no_scores,
    applies_to=has_parameters("logprobs"),
)
streamed_tools_and_logprobs_refused = when(
    "streamed-tools-and-logprobs-refused",
    "A stream with tools and logprobs is refused.",
    lambda sent: _streams(sent) and bool(sent.get("tools")) and bool(sent.get("logprobs")),
    refusing("logprobs is not supported with tools and stream"),
    applies_to=_lacks_rule("tools-without-logprobs", *STREAMED_TOOLS),
)
logprobs_run_past_the_stop = hooked_fault(
    "logprobs-run-past-the-stop",
    "An answer that ends at a stop string has the log-probability of one more token.",
    answer=_run_on,
    applies_to=has_parameters("logprobs"),
)
top_p_thins_out_alternatives = hooked_fault(
    "top-p-thins-out-alternatives",
    "A low top_p removes all alternatives except the first.",
    answer=_thin_out,
    chunk=_thin_out,
    applies_to=has_parameters("top_logprobs"),
)
top_k_lost_next_to_top_p = when(
    "top-k-lost-next-to-top-p",
    "`top_k` is ignored if there is a top_p.",
    lambda sent: is_number(sent.get("top_p"), 0.01, 1) and is_whole(sent.get("top_k"), 1, GREATEST),
    dropping("top_k"),
    applies_to=has_parameters("top_k"),
)
both_limits_fail = when(
    "both-limits-fail",
    "A request with min_tokens and max_tokens gets a 500.",
    lambda sent: is_whole(sent.get("min_tokens"), 1, GREATEST) and is_whole(sent.get("max_tokens"), 1, GREATEST),
    fail,
    applies_to=has_parameters("min_tokens"),
)
stop_ids_with_min_tokens_fail = when(
    "stop-ids-with-min-tokens-fail",
    "A request with min_tokens and an unknown token in stop_token_ids gets a 500.",
    lambda sent: (
        is_whole(sent.get("min_tokens"), 1, GREATEST)
        and isinstance(sent.get("stop_token_ids"), list)
        and any(is_whole(token, 4096, GREATEST) for token in sent["stop_token_ids"])
    ),
    fail,
    applies_to=has_parameters(*WITH_STOP_IDS),
)
min_tokens_lost_next_to_stop = when(
    "min-tokens-lost-next-to-stop",
    "`min_tokens` is ignored if there is a stop string.",
    lambda sent: bool(sent.get("stop")),
    dropping("min_tokens"),
    applies_to=has_parameters("min_tokens"),
)
stop_ids_eat_a_character = hooked_fault(
    "stop-ids-eat-a-character",
    "If special tokens are skipped, a token of stop_token_ids removes the last character of the answer.",
    answer=_eat,
    applies_to=has_parameters("stop_token_ids"),
)
forms_lost_while_thinking = when(
    "forms-lost-while-thinking",
    "`response_format` is ignored if reasoning is requested.",
    _thinks,
    dropping("response_format"),
    applies_to=has_parameters("response_format"),
)
penalties_lost_next_to_a_seed = when(
    "penalties-lost-next-to-a-seed",
    "Penalties are ignored if there is a seed.",
    lambda sent: is_whole(sent.get("seed"), 0, 2**63 - 1) and _penalised(sent),
    dropping("presence_penalty", "frequency_penalty"),
)
streams_with_tool_results_fail = when(
    "streams-with-tool-results-fail",
    "A stream for a conversation with the result of a tool gets a 500.",
    _uses_results,
    fail,
    applies_to=has_parameters("tools"),
)
larger_limit_counts = when(
    "larger-limit-counts",
    "If max_tokens and max_completion_tokens differ, the larger one counts.",
    _is_both,
    _larger,
    applies_to=_lacks_rule("one-token-limit", "max_completion_tokens"),
)
several_with_a_seed_refused = when(
    "several-with-a-seed-refused",
    "A seed is refused if several choices are requested.",
    lambda sent: _several(sent) and is_whole(sent.get("seed"), 0, 2**63 - 1),
    refusing("seed must not be set when several choices are requested"),
    applies_to=has_parameters("n", "seed"),
)
