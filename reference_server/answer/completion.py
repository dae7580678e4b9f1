"""Answer: the deltas of a request as one whole answer in the dialect's own form. Pure."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING, Final

from reference_server.answer.response_fields import (
    PLAIN,
    ROLE,
    by_choice,
    ending_told,
    ids_told,
    logprobs,
    prompt_told,
    reasoning_member,
    said,
    usage,
)
from reference_server.tool_call_output import CallWriter

if TYPE_CHECKING:
    from collections.abc import Sequence

    from openapi.contract.contract import Contract
    from reference_server.answer.response_fields import Heading, Json
    from reference_server.engine import Delta
    from reference_server.request.response_options import Telling

MILLISECONDS_PER_S: Final = 1_000


def completion(
    contract: Contract, heading: Heading, prompt_tokens: int, deltas: Sequence[Delta], telling: Telling = PLAIN
) -> Json:
    """The whole answer, made of the deltas of all choices, each up to its finish reason; they may come in any order.

    The times that some dialects tell of single steps are those of the first choice.
    """
    choices = by_choice(deltas)
    answer: Json = {
        **heading.members("chat.completion"),
        "choices": [_choice(contract, index, own, telling, heading) for index, own in choices.items()],
        "usage": usage(contract, prompt_tokens, list(chain.from_iterable(choices.values()))),
        **prompt_told(deltas, telling),
    }
    if contract.answer.timings:
        steps = [_milliseconds(delta.step_s) for delta in choices[0] if delta.step_s is not None]
        answer |= {"prefill_time": steps[0]} if steps else {}
        # Where another server generates, several tokens may have come together, and nobody measured each.
        answer |= {"decode_time_arr": steps[1:]} if len(steps) == sum(delta.tokens for delta in choices[0]) else {}
    return answer


def _choice(contract: Contract, index: int, deltas: Sequence[Delta], telling: Telling, heading: Heading) -> Json:
    text, reasoning = said(deltas)
    text = telling.echo + text
    called = CallWriter(heading.calls, index).whole(deltas)
    member = reasoning_member(contract)
    thought = {member: reasoning} if reasoning and member and telling.reasoning else {}
    told = {"logprobs": logprobs(contract, deltas, telling)} if deltas[0].logprob is not None else {}
    return {
        "index": index,
        "message": {
            "role": ROLE,
            "content": (text or contract.answer.silence) if called else text,
            **thought,  # its place among the members
            **contract.answer.message,
            **thought,  # in place of the null that some dialects have there
            **called,
        },
        **contract.answer.choice,
        **told,
        **ids_told(deltas, telling),
        **ending_told(contract.answer.choice, deltas, heading.model, telling),
        "finish_reason": heading.calls.reason(deltas[-1].finish_reason),
    }


def _milliseconds(seconds: float) -> float:
    return round(seconds * MILLISECONDS_PER_S, 3)
