"""From a body that keeps the contract to what the engine's sampler is asked."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final

from reference_server.engine import MOST_LOGPROBS, Repetition, SamplingParams
from reference_server.errors import ApiError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from openapi.contract.contract import Contract

INT32_MIN: Final = -(2**31)
INT32_MAX: Final = 2**31 - 1
LEAST_BIAS: Final = -100.0
GREATEST_BIAS: Final = 100.0
ENDLESS_CAPPED: Final = "ignore-eos-ceiling"
ENDLESS_LIMIT: Final = 4000
"""A rule that some contracts have, and its number: ovms-2024.4#request/ignore_eos."""
PRIORITIES: Final = {"flex": 1, "priority": -1, "fast": -1}
"""Where requests of a service tier stand in the queue; the others are 0."""
VERBOSITY: Final = {"low": math.log(3), "high": -math.log(3)}
EFFORTS: Final = {"none": 0, "minimal": 32, "low": 128, "medium": 512, "high": 2048, "xhigh": 8192}
"""Most tokens of a thought for each effort; the greatest, max, has no limit. The numbers are this server's own."""

TOP_TURNS_ON: Final = "top-logprobs-turns-on-logprobs"
NONE_IN_STREAMS: Final = "logprobs-in-streams"
"""Rules that some contracts have: the number of alternatives alone asks for logprobs; a stream carries none."""


def sampling_params(
    contract: Contract,
    body: Mapping[str, Any],
    given: Mapping[str, Any],
    *,
    stop_text_shown: bool,
    reasoning: bool,
) -> SamplingParams:
    """The parameters of one request; raises ApiError for values that exclude each other or that no sampler can use.

    body: as it was sent. given: the same with the documented defaults of the dialect's parameters.
    reasoning: whether thoughts are told from the answer.
    """
    sent = {name: body.get(name) for name in contract.parameters}
    stop = given.get("stop") or ()
    plain: dict[str, Any] = {
        "max_tokens": _limit(contract, given),
        "min_tokens": _integer(given.get("min_tokens")),
        "temperature": given.get("temperature"),
        "top_p": given.get("top_p"),
        "top_k": _integer(given.get("top_k")),
        "min_p": given.get("min_p"),
        "presence_penalty": given.get("presence_penalty"),
        "frequency_penalty": given.get("frequency_penalty"),
        "repetition_penalty": given.get("repetition_penalty"),
        "seed": _integer(given.get("seed")),
        "skip_special_tokens": given.get("skip_special_tokens"),
        "ignore_eos": given.get("ignore_eos"),
        "spaces_between_special_tokens": given.get("spaces_between_special_tokens"),
    }
    try:
        return SamplingParams(
            **{name: value for name, value in plain.items() if value is not None},
            **_choices(contract, sent, given),
            **_named_tokens(given),
            **_prompt(given),
            **_ends(given),
            thinking_budget=thinking_budget(given),
            cache_salt=given.get("cache_salt"),
            predicted=_predicted(given.get("prediction")),
            priority=_integer(given.get("priority")) or PRIORITIES.get(given.get("service_tier") or "auto", 0),
            stop=(stop,) if isinstance(stop, str) else tuple(stop),
            stop_token_ids=frozenset(_ids(given.get("stop_token_ids") or ())),
            include_stop_str_in_output=stop_text_shown,
            logprobs=_logprobs(contract, sent),
            reasoning=reasoning,
        )
    except ValueError as error:  # where a document states no range, the sampler still has one
        raise ApiError("invalid_request", str(error)) from error


def _ids(items: Iterable[Any]) -> Iterator[int]:
    """The 32-bit integers among them; all else is ignored: mindie-llm-2.3#request/stop_token_ids."""
    for item in items:
        number = type(item) is int or (type(item) is float and item.is_integer())
        if number and INT32_MIN <= item <= INT32_MAX:
            yield int(item)


def _named_tokens(given: Mapping[str, Any]) -> dict[str, Any]:
    """What is asked of single tokens. vLLM takes a bias beyond -100 and 100 for these; OpenAI refuses it before."""
    bias = (given.get("logit_bias") or {}).items()
    allowed = given.get("allowed_token_ids")
    return {
        "logit_bias": tuple((int(token), max(LEAST_BIAS, min(value, GREATEST_BIAS))) for token, value in bias),
        "allowed_token_ids": None if allowed is None else frozenset(map(int, allowed)),
        "bad_words": tuple(given.get("bad_words") or ()),
        "logprob_token_ids": tuple(map(int, given.get("logprob_token_ids") or ())),
    }


def _predicted(prediction: Mapping[str, Any] | None) -> str | None:
    """The text that an answer is likely to be."""
    return None if prediction is None else text_of(prediction["content"])


def _prompt(given: Mapping[str, Any]) -> dict[str, Any]:
    """What becomes of the prompt, and what is told of it."""
    logprobs = given.get("prompt_logprobs")
    if logprobs is not None and given.get("stream"):
        words = "prompt_logprobs: a stream carries none: leave out stream or this"
        raise ApiError("invalid_request", words, param="prompt_logprobs")
    return {
        "prompt_logprobs": _integer(logprobs),
        "returns_prompt": bool(given.get("return_token_ids") or given.get("return_prompt_text")),
        "truncate_prompt_tokens": _integer(given.get("truncate_prompt_tokens")),
        "keeps_beginning": given.get("truncation_side") == "right",
    }


def _ends(given: Mapping[str, Any]) -> dict[str, Any]:
    """What else ends an answer: a repetition, where there is a longest pattern, and verbosity, by making ends likelier.

    A shortest pattern of 0 tokens is one of 1, as in vLLM. Verbosity is a bias: with VERBOSITY["low"] an end is three
    times as likely against any other token as with "medium", with "high" a third.
    """
    asked = given.get("repetition_detection") or {}
    longest = int(asked.get("max_pattern_size") or 0)
    repetition = None
    if longest:
        shortest, count = int(asked.get("min_pattern_size") or 0), int(asked.get("min_count") or 0)
        try:
            repetition = Repetition(longest, max(shortest, 1), count)
        except ValueError as error:
            raise ApiError("invalid_request", f"repetition_detection: {error}", param="repetition_detection") from error
    return {"repetition": repetition, "end_bias": VERBOSITY.get(given.get("verbosity") or "medium", 0.0)}


def text_of(content: str | Sequence[Mapping[str, Any]]) -> str:
    """The text of a content; parts become one text, a line each."""
    if isinstance(content, str):
        return content
    return "\n".join(part["refusal"] if part["type"] == "refusal" else part["text"] for part in content)


def effort_kwargs(effort: str | None) -> dict[str, Any]:
    """What an effort of reasoning tells the template: whether the model thinks, and how much, if it knows of that."""
    return {} if effort is None else {"enable_thinking": effort != "none", "reasoning_effort": effort}


def thinking_budget(given: Mapping[str, Any]) -> int | None:
    """Tokens for a thought: what the request says in numbers, else what its effort stands for here."""
    budget = _integer(given.get("thinking_token_budget"))
    if budget is not None:
        return None if budget < 0 else budget
    return EFFORTS.get(given.get("reasoning_effort") or "max")


def _choices(contract: Contract, sent: Mapping[str, Any], given: Mapping[str, Any]) -> dict[str, Any]:
    """How many answers there are, and how they are found.

    A dialect with use_beam_search turns beam search on by it; its width is n, as in vLLM and MindIE's source, or a
    greater best_of. Without that parameter a best_of above 1 turns it on and is the width
    (ovms-2024.4#request/unsupported/use_beam_search).

    Where a dialect returns all of best_of, that is the number of answers, whatever n says.

    Nothing says into how many groups the diversity penalty divides the beams, and OpenVINO Model Server has one, where
    the penalty has nothing to act on. So there is one group unless the penalty is sent: then every beam is its own.
    """
    n, best_of = _integer(given.get("n")) or 1, _integer(sent.get("best_of"))
    if not given.get("use_beam_search", (best_of or 1) > 1):
        returns_all = best_of is not None and contract.answer.best_of == "all"
        return {"n": best_of if returns_all else n, "best_of": best_of}
    width = max(n, best_of or 1)
    diversity = sent.get("diversity_penalty")
    return {
        "n": n,
        "best_of": width,
        "beam_search": True,
        "length_penalty": given.get("length_penalty", 1.0),
        "beam_groups": 1 if diversity is None else width,
        "diversity_penalty": diversity or 0.0,
    }


def _logprobs(contract: Contract, sent: Mapping[str, Any]) -> int | None:
    """How many alternatives come with each token's log-probability; None: the answer has none."""
    asked, top = sent.get("logprobs"), sent.get("top_logprobs")
    if asked is False and top:
        words = f"top_logprobs is {top} and logprobs is false: leave one of them out"
        raise ApiError("invalid_request", words, param="top_logprobs")
    if top == -1:  # vLLM too lists at most 20 where its operator has not set another limit
        words = f"top_logprobs is -1: this server lists {MOST_LOGPROBS} at most"
        raise ApiError("invalid_request", words, param="top_logprobs")
    if asked is None and top is not None and TOP_TURNS_ON in contract.rules:
        asked = True
    if not asked or (sent.get("stream") and NONE_IN_STREAMS in contract.rules):
        return None
    return int(top or 0)


def _limit(contract: Contract, given: Mapping[str, Any]) -> int | None:
    """The most tokens to generate; a dialect may cap them beside ignore_eos, also where no number was sent."""
    newer = given.get("max_completion_tokens")
    asked = _integer(given.get("max_tokens") if newer is None else newer)
    return ENDLESS_LIMIT if asked is None and given.get("ignore_eos") and ENDLESS_CAPPED in contract.rules else asked


def _integer(value: float | None) -> int | None:
    """JSON Schema calls 20.0 an integer; everybody behind this line wants an int."""
    return None if value is None else int(value)
