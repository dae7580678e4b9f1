"""Blind faults that show only if two parameters or capabilities are used together."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

import orjson

from reference_server.answer.response_fields import reasoning_field
from reference_server.faults.blind.recipes import is_whole, when
from reference_server.faults.blind.thought_recipes import forbids_thinking, thinks, thoughts_of
from reference_server.faults.blind.tool_recipes import functions_of, properties_of
from reference_server.faults.blind.validity import allows
from reference_server.faults.decorators import choices_of, has_parameters, hooked_fault, message_of, sampling_fault
from reference_server.faults.fault_middleware import parse_object
from reference_server.faults.hooks import DATA, DONE

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from reference_server.engine import SamplingParams
    from reference_server.faults.hooks import Json, ServedRequest

GREATEST: Final = 2**31 - 1
END: Final = "<|im_end|>"
TAIL: Final = ".\n</think>"
CAN_THINK: Final = has_parameters("chat_template_kwargs")


def _several(sent: Json) -> bool:
    return is_whole(sent.get("n"), 2, GREATEST)


def _includes_usage(sent: Json) -> bool:
    options = sent.get("stream_options")
    return isinstance(options, dict) and options.get("include_usage") is True


def _leak_cut_thoughts(answer: Json, _request: ServedRequest) -> None:
    for choice in choices_of(answer):
        said = message_of(choice)
        thoughts = thoughts_of(said)
        if thoughts and choice.get("finish_reason") == "length" and not said.get("content"):
            said["content"], said[thoughts[0]] = thoughts[1], None


def _leak_thoughts_with_calls(answer: Json, _request: ServedRequest) -> None:
    for choice in choices_of(answer):
        said = message_of(choice)
        thoughts = thoughts_of(said)
        if thoughts and said.get("tool_calls"):
            said["content"], said[thoughts[0]] = f"<think>{thoughts[1]}</think>", None


def _leak_thoughts_over_budget(answer: Json, request: ServedRequest) -> None:
    for choice in choices_of(answer) if is_whole(request.payload.get("thinking_token_budget"), 1, GREATEST) else ():
        said = message_of(choice)
        thoughts = thoughts_of(said)
        if thoughts and isinstance(said.get("content"), str):
            half = len(thoughts[1]) // 2
            said[thoughts[0]] = thoughts[1][:half]
            said["content"] = thoughts[1][half:] + said["content"]


def _hide_calls_in_thoughts(answer: Json, _request: ServedRequest) -> None:
    for choice in choices_of(answer):
        said = message_of(choice)
        thoughts = thoughts_of(said)
        if thoughts and said.get("tool_calls"):
            calls = [orjson.dumps(call["function"]).decode() for call in said["tool_calls"]]
            said[thoughts[0]] += "".join(f"\n<tool_call>\n{call}\n</tool_call>" for call in calls)
            said["tool_calls"] = []
            choice["finish_reason"] = "stop"


def _leak_into_forms(chunk: Json, request: ServedRequest) -> None:
    if not (isinstance(request.payload.get("response_format"), dict) and thinks(request.payload)):
        return
    for choice in choices_of(chunk):
        said, leaked = message_of(choice), request.state.setdefault("leaked", set())
        if said.get("content") and choice.get("index") not in leaked:
            leaked.add(choice.get("index"))
            said["content"] = TAIL + said["content"]


def _answer_in_thoughts(chunk: Json, request: ServedRequest) -> None:
    name = reasoning_field(request.contract)
    if name is None or not forbids_thinking(request.payload):
        return
    for choice in choices_of(chunk):
        said = message_of(choice)
        if said.get("content"):
            said[name], said["content"] = said["content"], ""


def _alike(answer: Json, request: ServedRequest) -> None:
    if _several(request.payload) and is_whole(request.payload.get("seed"), 0, 2**64):
        first = next(choices_of(answer))
        answer["choices"] = [{**first, "index": at} for at in range(len(answer["choices"]))]


def _expose_end(answer: Json, request: ServedRequest) -> None:
    sent, usage = request.payload, answer.get("usage")
    limits = [sent.get(name) for name in ("max_tokens", "max_completion_tokens") if sent.get(name) is not None]
    if sent.get("stop") or _several(sent) or not isinstance(usage, dict) or usage["completion_tokens"] not in limits:
        return
    for choice in choices_of(answer):
        said = message_of(choice)
        if choice.get("finish_reason") == "stop" and said.get("content"):
            said["content"] += END
            choice["finish_reason"] = "length"


def _schemas_of(sent: Json) -> Iterator[Any]:
    for function in functions_of(sent):
        yield from properties_of(function).values()
    form = sent.get("response_format")
    named = form.get("json_schema") if isinstance(form, dict) else None
    schema = named.get("schema") if isinstance(named, dict) else None
    if isinstance(schema, dict) and isinstance(schema.get("properties"), dict):
        yield from schema["properties"].values()


def _drop_lengths(request: ServedRequest) -> None:
    for schema in _schemas_of(request.payload):
        if isinstance(schema, dict) and "pattern" in schema:
            schema.pop("minLength", None)
            schema.pop("maxLength", None)


def _break_frames(frame: bytes, request: ServedRequest) -> Iterable[bytes]:
    last = frame == DONE or b'"finish_reason":"' in frame
    return [frame.removeprefix(DATA) if last and _includes_usage(request.payload) else frame]


def _usage_per_choice(frame: bytes, request: ServedRequest) -> Iterable[bytes]:
    chunk = parse_object(frame.removeprefix(DATA))
    repeated = _several(request.payload) and chunk.get("choices") == [] and isinstance(chunk.get("usage"), dict)
    return [frame] * (request.payload["n"] if repeated else 1)


cut_thoughts_leak = hooked_fault(
    "cut-thoughts-leak",
    "If max_tokens ends a plain answer within its reasoning, the reasoning is in the content.",
    answer=_leak_cut_thoughts,
    applies_to=CAN_THINK,
)
thoughts_leak_next_to_tools = hooked_fault(
    "thoughts-leak-next-to-tools",
    "The reasoning of plain answers with tool calls is in the content, between tags.",
    answer=_leak_thoughts_with_calls,
    applies_to=has_parameters("tools", "chat_template_kwargs"),
)
thoughts_beyond_budgets_leak = hooked_fault(
    "thoughts-beyond-budgets-leak",
    "With a thinking budget, the second half of the reasoning is at the start of the content.",
    answer=_leak_thoughts_over_budget,
    applies_to=has_parameters("thinking_token_budget"),
)
calls_lost_while_thinking = hooked_fault(
    "calls-lost-while-thinking",
    "In plain answers with reasoning, tool calls are part of the reasoning.",
    answer=_hide_calls_in_thoughts,
    applies_to=has_parameters("tools", "chat_template_kwargs"),
)
thoughts_leak_into_streamed_forms = hooked_fault(
    "thoughts-leak-into-streamed-forms",
    "In a stream with reasoning, the JSON that response_format demands follows the end of the reasoning.",
    chunk=_leak_into_forms,
    applies_to=has_parameters("response_format", "chat_template_kwargs"),
)
answers_become_thoughts_when_off = hooked_fault(
    "answers-become-thoughts-when-off",
    "In a stream for which reasoning is turned off, the answer is in the reasoning, and its content is empty.",
    chunk=_answer_in_thoughts,
    applies_to=CAN_THINK,
)
several_with_a_seed_alike = hooked_fault(
    "several-with-a-seed-alike",
    "If there is a seed, all choices of a plain answer are the same.",
    answer=_alike,
    applies_to=has_parameters("n", "seed"),
)
ends_at_the_limit_exposed = hooked_fault(
    "ends-at-the-limit-exposed",
    "A plain answer that ends on its own with the last allowed token shows its end token and ends with length.",
    answer=_expose_end,
)
lengths_lost_next_to_patterns = when(
    "lengths-lost-next-to-patterns",
    "In a schema with a pattern, minLength and maxLength are ignored.",
    lambda sent: any(isinstance(schema, dict) and "pattern" in schema for schema in _schemas_of(sent)),
    _drop_lengths,
    applies_to=has_parameters("tools"),
)
streamed_usage_breaks_frames = hooked_fault(
    "streamed-usage-breaks-frames",
    "With include_usage, the chunk with the finish_reason and `[DONE]` lack `data:`.",
    event=_break_frames,
    applies_to=has_parameters("stream_options"),
)
usage_once_per_choice = hooked_fault(
    "usage-once-per-choice",
    "The usage chunk of a stream is sent once for each choice.",
    event=_usage_per_choice,
    applies_to=allows(n=2, temperature=1.0, stream=True, stream_options={"include_usage": True}),
)


@sampling_fault("greedy-with-top-p-samples")
def greedy_with_top_p_samples(params: SamplingParams) -> SamplingParams:
    """With a top_p below 1, temperature 0 is treated as 1."""
    return replace(params, temperature=1.0) if params.temperature == 0 and params.top_p < 1 else params
