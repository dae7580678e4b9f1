"""Blind faults that show only if two parameters or capabilities are used together."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

from reference_server.faults.blind.recipes import dropping, is_whole, when
from reference_server.faults.blind.schema_recipes import form_schema_of
from reference_server.faults.blind.validity import allows
from reference_server.faults.decorators import choices_of, has_parameters, hooked_fault, message_of

if TYPE_CHECKING:
    from reference_server.faults.hooks import Json, ServedRequest

GREATEST: Final = 2**31 - 1
TOOL: Final = {"type": "function", "function": {"name": "look_up", "parameters": {"type": "object", "properties": {}}}}


def _asks_for_several(sent: Json) -> bool:
    return is_whole(sent.get("n"), 2, GREATEST)


def _forbids_calls(sent: Json) -> bool:
    """Whether a stream must not call. Dropping that violates tool_choice: none means that no tool is called."""
    return sent.get("stream") is True and sent.get("tool_choice") == "none" and bool(sent.get("tools"))


def _biases_several(sent: Json) -> bool:
    """Whether several choices are biased. Dropping the bias violates logit_bias, which is not for one choice only."""
    return _asks_for_several(sent) and isinstance(sent.get("logit_bias"), dict)


def _streams_form(sent: Json) -> bool:
    """Whether a stream must be JSON. Dropping that violates response_format, which does not except streams."""
    form = sent.get("response_format")
    formed = isinstance(form, dict) and form.get("type") == "json_object"
    return sent.get("stream") is True and (formed or form_schema_of(sent) is not None)


def _leave_in_text(answer: Json, request: ServedRequest) -> None:
    """Do not parse calls. Violates tool_calls and finish_reason: calls are in tool_calls, in each choice."""
    for choice in choices_of(answer) if _asks_for_several(request.payload) else ():
        said = message_of(choice)
        if calls := said.pop("tool_calls", None):
            texts = (json.dumps(call.get("function"), ensure_ascii=False) for call in calls)
            said["content"] = "\n".join(f"<tool_call>\n{text}\n</tool_call>" for text in texts)
            choice["finish_reason"] = "stop"


def _lose_ids(chunk: Json, request: ServedRequest) -> None:
    """Drop ids of tokens. Violates return_token_ids: the ids of all generated tokens."""
    for choice in choices_of(chunk) if request.payload.get("tools") else ():
        if message_of(choice).get("tool_calls") and "token_ids" in choice:
            choice["token_ids"] = []


def _keep_one_score(chunk: Json, request: ServedRequest) -> None:
    """Drop scores of tokens. Violates logprobs: a log-probability for each token."""
    for choice in choices_of(chunk) if is_whole(request.payload.get("stream_interval"), 2, GREATEST) else ():
        scores = choice.get("logprobs")
        if isinstance(scores, dict) and scores.get("content"):
            scores["content"] = scores["content"][-1:]


def _index_zero(chunk: Json, request: ServedRequest) -> None:
    """Set indexes to 0. Violates choices.index: the index of the choice."""
    for choice in choices_of(chunk) if _asks_for_several(request.payload) else ():
        choice["index"] = 0


calls_despite_none_in_streams = when(
    "calls-despite-none-in-streams",
    "`tool_choice: none` is ignored in streams.",
    _forbids_calls,
    dropping("tool_choice"),
    applies_to=has_parameters("tools", "tool_choice"),
)
biases_lost_next_to_several = when(
    "biases-lost-next-to-several",
    "logit_bias is ignored if several choices are requested.",
    _biases_several,
    dropping("logit_bias"),
    applies_to=has_parameters("logit_bias", "n"),
)
forms_lost_in_streams = when(
    "forms-lost-in-streams",
    "A response_format that demands JSON is ignored in streams.",
    _streams_form,
    dropping("response_format"),
    applies_to=has_parameters("response_format"),
)
several_leave_calls_in_text = hooked_fault(
    "several-leave-calls-in-text",
    "In plain answers with several choices, tool calls are in the text, with their markup.",
    answer=_leave_in_text,
    applies_to=allows(n=2, temperature=1.0, tools=[TOOL]),
)
token_ids_lost_next_to_calls = hooked_fault(
    "token-ids-lost-next-to-calls",
    "In streams, chunks with tool calls have no token ids.",
    chunk=_lose_ids,
    applies_to=has_parameters("tools", "return_token_ids"),
)
intervals_keep_one_score = hooked_fault(
    "intervals-keep-one-score",
    "With a stream_interval above 1, a chunk has the log-probability of its last token only.",
    chunk=_keep_one_score,
    applies_to=has_parameters("stream_interval", "logprobs"),
)
every_choice_has_index_zero = hooked_fault(
    "every-choice-has-index-zero",
    "In a stream with several choices, all chunks have the index 0.",
    chunk=_index_zero,
    applies_to=allows(n=2, temperature=1.0, stream=True),
)
