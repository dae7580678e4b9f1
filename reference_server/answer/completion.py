"""Conversion of a request's deltas to a whole response in the dialect's form."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING, Final

from reference_server.answer.response_fields import (
    DEFAULT_OPTIONS,
    ROLE,
    finish_fields,
    group_by_choice,
    join_text,
    logprobs,
    prompt_fields,
    reasoning_field,
    token_id_fields,
    usage,
)
from reference_server.tool_call_output import ToolCallWriter

if TYPE_CHECKING:
    from collections.abc import Sequence

    from openapi.contract.contract import Contract
    from reference_server.answer.response_fields import AnswerMetadata, Json
    from reference_server.engine import Delta
    from reference_server.request.response_options import ResponseOptions

MILLISECONDS_PER_S: Final = 1_000


def build_completion(
    contract: Contract,
    metadata: AnswerMetadata,
    prompt_tokens: int | None,
    deltas: Sequence[Delta],
    options: ResponseOptions = DEFAULT_OPTIONS,
) -> Json:
    """Return the whole response for the deltas of all choices, each up to its finish reason, in any order.

    The step times that some dialects report are those of the first choice.
    """
    choices = group_by_choice(deltas)
    answer: Json = {
        **metadata.fields("chat.completion"),
        "choices": [_choice(contract, index, own, options, metadata) for index, own in choices.items()],
        "usage": usage(contract, prompt_tokens, list(chain.from_iterable(choices.values()))),
        **prompt_fields(deltas, options),
    }
    if contract.answer.timings:
        steps = [_milliseconds(delta.step_s) for delta in choices[0] if delta.step_s is not None]
        answer |= {"prefill_time": steps[0]} if steps else {}
        # An upstream server may send several tokens at once, whose steps cannot be measured one by one.
        answer |= {"decode_time_arr": steps[1:]} if len(steps) == sum(delta.tokens for delta in choices[0]) else {}
    return answer


def _choice(
    contract: Contract, index: int, deltas: Sequence[Delta], options: ResponseOptions, metadata: AnswerMetadata
) -> Json:
    text, reasoning = join_text(deltas)
    text = options.echo + text
    calls = ToolCallWriter(metadata.call_format, index).message_fields(deltas)
    field = reasoning_field(contract)
    thought = {field: reasoning} if reasoning and field and options.reasoning else {}
    scores = {"logprobs": logprobs(contract, deltas, options)} if deltas[0].logprob is not None else {}
    return {
        "index": index,
        "message": {
            "role": ROLE,
            "content": (text or contract.answer.silence) if calls else text,
            **thought,  # fixes the position of the key
            **contract.answer.message,
            **thought,  # overrides the null that some dialects have for it
            **calls,
        },
        **contract.answer.choice,
        **scores,
        **token_id_fields(deltas, options),
        **finish_fields(contract.answer.choice, deltas, metadata.model, options),
        "finish_reason": metadata.call_format.finish_reason(deltas[-1].finish_reason),
    }


def _milliseconds(seconds: float) -> float:
    return round(seconds * MILLISECONDS_PER_S, 3)
