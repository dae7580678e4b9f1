"""Blind faults that show only if two parameters or capabilities are used together."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import orjson

from reference_server.faults.blind.recipes import (
    dropping,
    garble,
    is_greedy,
    is_number,
    is_whole,
    messages_of,
    refusing,
    when,
)
from reference_server.faults.blind.validity import allows
from reference_server.faults.decorators import choices_of, has_parameters, hooked_fault, message_of

if TYPE_CHECKING:
    from reference_server.faults.hooks import Json, ServedRequest

GREATEST: Final = 2**31 - 1
PENALTIES: Final = ("presence_penalty", "frequency_penalty", "repetition_penalty")
THOUGHTS: Final = ("reasoning_content", "reasoning")
MARK: Final = "/think>"
SMALL_TOP_K: Final = 4


def _several(sent: Json) -> bool:
    return is_whole(sent.get("n"), 2, GREATEST)


def _thinks(sent: Json) -> bool:
    keywords = sent.get("chat_template_kwargs")
    asked = keywords.get("enable_thinking") if isinstance(keywords, dict) else None
    return bool(asked or sent.get("reasoning_effort"))


def _no_scores(response: Json) -> None:
    for choice in choices_of(response):
        if choice.get("logprobs"):
            choice["logprobs"] = None


def _no_scores_with_tools(response: Json, request: ServedRequest) -> None:
    if request.payload.get("tools"):
        _no_scores(response)


def _no_scores_with_thoughts(response: Json, request: ServedRequest) -> None:
    if _thinks(request.payload):
        _no_scores(response)


def _drop_instructions(request: ServedRequest) -> None:
    kept = [message for message in messages_of(request.payload) if message.get("role") != "system"]
    if kept:
        request.payload["messages"] = kept


def _leak_cut_calls(answer: Json, _request: ServedRequest) -> None:
    for choice in choices_of(answer):
        said = message_of(choice)
        calls = said.get("tool_calls")
        if calls and choice.get("finish_reason") == "length":
            said["content"] = "".join(f"<tool_call>\n{orjson.dumps(call['function']).decode()}" for call in calls)
            said["tool_calls"] = []


def _cut_thoughts(answer: Json, request: ServedRequest) -> None:
    for choice in choices_of(answer) if request.payload.get("stop") else ():
        said = message_of(choice)
        for name in THOUGHTS:
            if said.get(name):
                said[name] = said[name][: -len(MARK)]
                said["content"] = MARK + (said.get("content") or "")


def _cross_indexes(chunk: Json, request: ServedRequest) -> None:
    if _several(request.payload) and request.event_index % 3 == 2:
        for choice in choices_of(chunk):
            if choice.get("index") in (0, 1) and choice.get("finish_reason") is None:
                choice["index"] = 1 - choice["index"]


penalties_lost_when_greedy = when(
    "penalties-lost-when-greedy",
    "Penalties are ignored at temperature 0.",
    lambda sent: is_greedy(sent) and any(sent.get(name) for name in PENALTIES),
    dropping(*PENALTIES),
)
several_greedy_choices_refused = when(
    "several-greedy-choices-refused",
    "Several choices are refused at temperature 0.",
    lambda sent: is_greedy(sent) and _several(sent),
    refusing("temperature must be greater than 0 if n > 1"),
    applies_to=allows(n=2, temperature=0),
)
tools_lost_next_to_a_form = when(
    "tools-lost-next-to-a-form",
    "Tools are ignored if there is a response_format.",
    lambda sent: bool(sent.get("tools")) and isinstance(sent.get("response_format"), dict),
    dropping("tools", "tool_choice", "parallel_tool_calls"),
    applies_to=has_parameters("tools", "response_format"),
)
logprobs_lost_next_to_tools = hooked_fault(
    "logprobs-lost-next-to-tools",
    "Log-probabilities are missing if the request has tools.",
    answer=_no_scores_with_tools,
    chunk=_no_scores_with_tools,
    applies_to=lambda contract: (
        has_parameters("tools", "logprobs")(contract) and "tools-without-logprobs" not in contract.rules
    ),
)
logprobs_lost_while_thinking = hooked_fault(
    "logprobs-lost-while-thinking",
    "Log-probabilities are missing if reasoning is requested.",
    answer=_no_scores_with_thoughts,
    chunk=_no_scores_with_thoughts,
    applies_to=has_parameters("logprobs", "chat_template_kwargs"),
)
instructions_lost_next_to_tools = when(
    "instructions-lost-next-to-tools",
    "The system message is ignored if the request has tools.",
    lambda sent: bool(sent.get("tools")),
    _drop_instructions,
    applies_to=has_parameters("tools"),
)
end_kept_next_to_stop_ids = when(
    "end-kept-next-to-stop-ids",
    "`ignore_eos` is ignored if there are stop_token_ids.",
    lambda sent: bool(sent.get("ignore_eos") and sent.get("stop_token_ids")),
    dropping("ignore_eos"),
    applies_to=has_parameters("ignore_eos", "stop_token_ids"),
)
cut_calls_leak = hooked_fault(
    "cut-calls-leak",
    "A tool call that max_tokens ends is in the content, with its markup.",
    answer=_leak_cut_calls,
    applies_to=has_parameters("tools"),
)
stops_cut_thoughts = hooked_fault(
    "stops-cut-thoughts",
    "If there is a stop string, the reasoning lacks its end, and the content begins with `/think>`.",
    answer=_cut_thoughts,
    applies_to=has_parameters("chat_template_kwargs"),
)
streamed_indexes_crossed = hooked_fault(
    "streamed-indexes-crossed",
    "In streams of several choices, some chunks have the index of another choice.",
    chunk=_cross_indexes,
    applies_to=has_parameters("n"),
)
small_top_k_with_top_p_is_noise = when(
    "small-top-k-with-top-p-is-noise",
    "A top_k below 5 together with a top_p below 1 removes all tokens, so that the answer is noise.",
    lambda sent: is_whole(sent.get("top_k"), 1, SMALL_TOP_K) and is_number(sent.get("top_p"), 0.01, 0.999),
    garble,
    applies_to=has_parameters("top_k"),
)
