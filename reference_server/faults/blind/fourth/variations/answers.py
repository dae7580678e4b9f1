"""Variations of answers and refusals: ids of calls, names of the reasoning, very unlikely tokens, long messages."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from reference_server.faults.blind.recipes import is_number
from reference_server.faults.blind.thought_recipes import THOUGHTS, thoughts_of
from reference_server.faults.decorators import choices_of, has_parameters, message_of, variation

if TYPE_CHECKING:
    from openapi.contract.contract import Contract
    from reference_server.faults.hooks import Json, ResponseHead, ServedRequest

MOST_SHOWN: Final = 20
UNLIKELY: Final = -9999.0
HIDDEN: Final = 64  # tokens
LIMITS: Final = ("max_tokens", "max_completion_tokens")
GREATEST: Final = 2**31 - 1
DETAIL: Final = (
    " [{'type': 'value_error', 'loc': ('body',), 'msg': \"Value error, see the documentation of this <server>\","
    " 'ctx': {'error': ValueError('1 & 2')}, 'url': 'https://errors.example/v/value_error'}]\n"
)
TIMES: Final = 12
MESSAGES: Final = ("message", "error", "detail")


def _name_calls(response: Json, request: ServedRequest) -> None:
    numbers: dict[Any, int] = request.state.setdefault("numbers", {})
    for choice in choices_of(response):
        for call in message_of(choice).get("tool_calls") or ():
            name = (call.get("function") or {}).get("name")
            if call.get("id") and name:
                number = numbers.setdefault(call["id"], len(numbers))
                call["id"] = f"functions.{name}:{number}"


def _name_thoughts_twice(response: Json, _request: ServedRequest) -> None:
    for choice in choices_of(response):
        said = message_of(choice)
        if (thoughts := thoughts_of(said)) is not None:
            said.update(dict.fromkeys(THOUGHTS, thoughts[1]))


def _floor(response: Json, request: ServedRequest) -> None:
    for choice in choices_of(response) if request.payload.get("top_logprobs") == MOST_SHOWN else ():
        scores = choice.get("logprobs")
        for entry in (scores.get("content") or ()) if isinstance(scores, dict) else ():
            top = entry.get("top_logprobs") or ()
            if len(top) == MOST_SHOWN and entry["logprob"] < min(token["logprob"] for token in top):
                entry["logprob"] = UNLIKELY


def _lengthen(value: Any, name: str = "") -> Any:
    if isinstance(value, dict):
        return {key: _lengthen(item, key) for key, item in value.items()}
    return value + DETAIL * TIMES if isinstance(value, str) and name in MESSAGES else value


def _explain(_head: ResponseHead, body: Any, _request: ServedRequest) -> Any:
    return _lengthen(body)


def _count_hidden(response: Json, request: ServedRequest) -> None:
    usage, sent = response.get("usage"), request.payload
    limits = [sent[name] for name in LIMITS if is_number(sent.get(name), 1, GREATEST)]
    if isinstance(usage, dict) and usage["completion_tokens"] + HIDDEN <= min(limits, default=GREATEST):
        usage["completion_tokens"] += HIDDEN
        usage["total_tokens"] += HIDDEN
        usage["completion_tokens_details"] = {"reasoning_tokens": HIDDEN}


def _date_model(response: Json, _request: ServedRequest) -> None:
    if isinstance(response.get("model"), str):
        response["model"] += "-2026-08-06"


def _is_openai(contract: Contract) -> bool:
    """Apply to dialects whose document has hidden reasoning, and one number for very unlikely tokens."""
    return {"top_logprobs", "service_tier"} <= set(contract.parameters)


def _has_both_names(contract: Contract) -> bool:
    return has_parameters("chat_template_kwargs")(contract) and "stream_options" in contract.parameters


call_ids_with_names = variation(
    "call-ids-with-names",
    "The id of a call contains the name of its function and its number.",
    answer=_name_calls,
    chunk=_name_calls,
    applies_to=lambda contract: has_parameters("tools")(contract) and not contract.answer.timings,
)
thoughts_under_both_names = variation(
    "thoughts-under-both-names",
    "The reasoning is sent under its old name too.",
    answer=_name_thoughts_twice,
    chunk=_name_thoughts_twice,
    applies_to=_has_both_names,
)
unlikely_tokens_floored = variation(
    "unlikely-tokens-floored",
    "The log-probability of a token that is not among the 20 likeliest is -9999.",
    answer=_floor,
    chunk=_floor,
    applies_to=_is_openai,
)
long_refusals = variation(
    "long-refusals",
    "Messages of refusals have thousands of characters, with quotes, signs and line ends.",
    refusal=_explain,
)
hidden_thoughts_counted = variation(
    "hidden-thoughts-counted",
    "The usage contains 64 tokens of reasoning that is not shown, if the limit allows them.",
    answer=_count_hidden,
    chunk=_count_hidden,
    applies_to=_is_openai,
)
versions_in_model_names = variation(
    "versions-in-model-names",
    "The model of an answer is the version of the model that the request names.",
    answer=_date_model,
    chunk=_date_model,
    applies_to=_is_openai,
)
