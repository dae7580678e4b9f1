"""Blind faults of token counts with several choices, reasoning and drafts, and of log-probabilities."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from reference_server.faults.blind.recipes import is_whole
from reference_server.faults.blind.validity import allows
from reference_server.faults.decorators import choices_of, has_parameters, hooked_fault

if TYPE_CHECKING:
    from collections.abc import Iterator

    from openapi.contract.contract import Contract
    from reference_server.faults.hooks import Json, ServedRequest

DRAFT: Final = 4  # tokens
PAST_THE_END: Final = 7  # tokens
GREATEST: Final = 2**31 - 1


def _usage_of(response: Json) -> Json:
    usage = response.get("usage")
    return usage if isinstance(usage, dict) else {}


def _set_count(usage: Json, name: str, tokens: int) -> None:
    usage["total_tokens"] += tokens - usage[name]
    usage[name] = tokens


def _count_each_prompt(answer: Json, request: ServedRequest) -> None:
    """Add up prompts. Violates usage.prompt_tokens: the tokens in the prompt."""
    usage, number = _usage_of(answer), request.payload.get("n")
    if usage and isinstance(number, int) and is_whole(number, 2, GREATEST):
        _set_count(usage, "prompt_tokens", usage["prompt_tokens"] * number)


def _count_past_the_end(response: Json, _request: ServedRequest) -> None:
    """Count too many. Violates completion_tokens_details.reasoning_tokens: a part of completion_tokens."""
    usage = _usage_of(response)
    details = usage.get("completion_tokens_details") or {}
    if details.get("reasoning_tokens"):
        details["reasoning_tokens"] = usage["completion_tokens"] + PAST_THE_END


def _count_whole_drafts(response: Json, request: ServedRequest) -> None:
    """Count discarded tokens. Violates usage.completion_tokens: the tokens in the answer."""
    for choice in choices_of(response):
        if choice.get("finish_reason") == "stop":
            request.state["ended"] = True
    usage = _usage_of(response)
    one = (request.payload.get("n") or 1) == 1
    if one and request.state.get("ended") and usage.get("completion_tokens"):
        _set_count(usage, "completion_tokens", -(-usage["completion_tokens"] // DRAFT) * DRAFT)


def _count_each_chunk(chunk: Json, request: ServedRequest) -> None:
    """Count new tokens only. Violates continuous_usage_stats: each chunk has the usage so far."""
    options, usage = request.payload.get("stream_options"), _usage_of(chunk)
    continuous = isinstance(options, dict) and options.get("continuous_usage_stats")
    if continuous and usage and chunk.get("choices"):
        so_far, earlier = usage["completion_tokens"], request.state.get("so far", 0)
        request.state["so far"] = so_far
        _set_count(usage, "completion_tokens", so_far - earlier)


def _score_lists(response: Json) -> Iterator[tuple[Any, Json]]:
    for choice in choices_of(response):
        scores = choice.get("logprobs")
        if isinstance(scores, dict) and scores.get("content"):
            yield choice.get("index"), scores


def _repeat_scores(chunk: Json, request: ServedRequest) -> None:
    """Send scores again. Violates logprobs.content: the tokens of the chunk's text."""
    for index, scores in _score_lists(chunk):
        sent: list[Json] = request.state.setdefault(index, [])
        sent += scores["content"]
        scores["content"] = list(sent)


def _list_chosen_first(response: Json, _request: ServedRequest) -> None:
    """Add the chosen token. Violates top_logprobs: the number of most likely tokens."""
    for _, scores in _score_lists(response):
        for entry in scores["content"]:
            if entry.get("top_logprobs"):
                chosen = {name: value for name, value in entry.items() if name != "top_logprobs"}
                entry["top_logprobs"] = [chosen, *entry["top_logprobs"]]


def _details_thoughts(contract: Contract) -> bool:
    return "UsageCompletionDetails" in contract.schemas and has_parameters("chat_template_kwargs")(contract)


prompts_counted_for_each_choice = hooked_fault(
    "prompts-counted-for-each-choice",
    "In the usage of a plain answer with several choices, the prompt counts once for each choice.",
    answer=_count_each_prompt,
    applies_to=allows(n=2, temperature=1.0),
)
thoughts_outnumber_the_answer = hooked_fault(
    "thoughts-outnumber-the-answer",
    "The usage reports more tokens of reasoning than tokens of the whole answer.",
    answer=_count_past_the_end,
    chunk=_count_past_the_end,
    applies_to=_details_thoughts,
)
ended_answers_count_whole_drafts = hooked_fault(
    "ended-answers-count-whole-drafts",
    "The completion_tokens of an answer that ends on its own or with a stop string are a multiple of four.",
    answer=_count_whole_drafts,
    chunk=_count_whole_drafts,
)
usage_so_far_not_cumulative = hooked_fault(
    "usage-so-far-not-cumulative",
    "With continuous_usage_stats, the usage of a chunk counts only the tokens of the chunk.",
    chunk=_count_each_chunk,
    applies_to=lambda contract: "continuous_usage" in contract.capabilities,
)
streamed_scores_cumulative = hooked_fault(
    "streamed-scores-cumulative",
    "The log-probabilities of a chunk are those of all tokens so far.",
    chunk=_repeat_scores,
    applies_to=allows(logprobs=True, stream=True),
)
chosen_token_listed_twice = hooked_fault(
    "chosen-token-listed-twice",
    "The chosen token precedes the most likely tokens, which may contain it, so that there is one too many.",
    answer=_list_chosen_first,
    chunk=_list_chosen_first,
    applies_to=has_parameters("top_logprobs"),
)
