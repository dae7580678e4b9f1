"""Conversion of a validated request body to the engine's sampling parameters."""

from __future__ import annotations

import math
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

from reference_server.engine import MAX_LOGPROBS, Repetition, SamplingParams
from reference_server.errors import ApiError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from openapi.contract.contract import Contract

INT32_MIN: Final = -(2**31)
INT32_MAX: Final = 2**31 - 1
MIN_BIAS: Final = -100.0
MAX_BIAS: Final = 100.0
MAX_BAD_WORDS: Final = 1000
MAX_BAD_WORD_CHARACTERS: Final = 65_536
IGNORE_EOS_CAPPED: Final = "ignore-eos-ceiling"
IGNORE_EOS_LIMIT: Final = 4000
"""A rule of some contracts, and the limit that it sets: ovms-2024.4#request/ignore_eos."""
PRIORITIES: Final = {"flex": 1, "priority": -1, "fast": -1}
"""Queue priority of each service tier; all others have 0, and smaller numbers come first."""
VERBOSITY: Final = {"low": math.log(3), "high": -math.log(3)}
EFFORTS: Final = {"none": 0, "minimal": 32, "low": 128, "medium": 512, "high": 2048, "xhigh": 8192}
"""Reasoning budget in tokens for each effort; `max` has no limit. The numbers are this server's own."""

NO_DEFAULTS: Final[Mapping[str, float]] = MappingProxyType({})

TOP_LOGPROBS_SUFFICE: Final = "top-logprobs-turns-on-logprobs"
NO_STREAMED_LOGPROBS: Final = "logprobs-in-streams"
"""Rules of some contracts: top_logprobs alone turns on logprobs; streams carry no logprobs."""


def sampling_params(
    contract: Contract,
    body: Mapping[str, Any],
    given: Mapping[str, Any],
    *,
    stop_text_shown: bool,
    reasoning: bool,
    model_defaults: Mapping[str, float] = NO_DEFAULTS,
) -> SamplingParams:
    """Return the parameters of one request; raise ApiError for values that conflict or that the sampler cannot use.

    body: the request as sent.
    given: its parameters with the dialect's documented defaults filled in.
    reasoning: whether to separate the reasoning from the answer.
    model_defaults: values for parameters that neither the request nor the dialect's documents give.
    """
    sent = {name: body.get(name) for name in contract.parameters}
    stop = given.get("stop") or ()
    plain: dict[str, Any] = {
        "max_tokens": _max_tokens(contract, given),
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
            **{**model_defaults, **{name: value for name, value in plain.items() if value is not None}},
            **_choice_params(contract, sent, given),
            **_token_params(given),
            **_prompt_params(given),
            **_end_params(given),
            thinking_budget=thinking_budget(given),
            cache_salt=given.get("cache_salt"),
            predicted=_predicted(given.get("prediction")),
            priority=_integer(given.get("priority")) or PRIORITIES.get(given.get("service_tier") or "auto", 0),
            stop=(stop,) if isinstance(stop, str) else tuple(stop),
            stop_token_ids=frozenset(_int32_ids(given.get("stop_token_ids") or ())),
            include_stop_str_in_output=stop_text_shown,
            logprobs=_logprobs(contract, sent),
            reasoning=reasoning,
        )
    except ValueError as error:  # the sampler has ranges even where a document states none
        raise ApiError("invalid_request", str(error)) from error


def _int32_ids(items: Iterable[Any]) -> Iterator[int]:
    """Yield the 32-bit integers among the items; all others are ignored: mindie-llm-2.3#request/stop_token_ids."""
    for item in items:
        number = type(item) is int or (type(item) is float and item.is_integer())
        if number and INT32_MIN <= item <= INT32_MAX:
            yield int(item)


def _token_params(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parameters about single tokens.

    A bias beyond -100 and 100 is clamped, as in vLLM. OpenAI's contract refuses it earlier.
    """
    bias = (given.get("logit_bias") or {}).items()
    allowed = given.get("allowed_token_ids")
    return {
        "logit_bias": tuple((int(token), max(MIN_BIAS, min(value, MAX_BIAS))) for token, value in bias),
        "allowed_token_ids": None if allowed is None else frozenset(map(int, allowed)),
        "bad_words": _bad_words(given.get("bad_words") or ()),
        "logprob_token_ids": tuple(map(int, given.get("logprob_token_ids") or ())),
    }


def _predicted(prediction: Mapping[str, Any] | None) -> str | None:
    """Return the predicted text of the answer."""
    return None if prediction is None else content_text(prediction["content"])


def _prompt_params(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parameters about truncating the prompt and reporting it."""
    logprobs = given.get("prompt_logprobs")
    if logprobs is not None and given.get("stream"):
        words = "prompt_logprobs is not available in streams: remove prompt_logprobs or stream"
        raise ApiError("invalid_request", words, param="prompt_logprobs")
    return {
        "prompt_logprobs": _integer(logprobs),
        "returns_prompt": bool(given.get("return_token_ids") or given.get("return_prompt_text")),
        "truncate_prompt_tokens": _integer(given.get("truncate_prompt_tokens")),
        "keeps_beginning": given.get("truncation_side") == "right",
    }


def _end_params(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parameters about two further ways to end an answer: repetition detection and verbosity.

    Repetition is detected if a maximum pattern size is given. A minimum pattern size of 0 tokens means 1, as in vLLM.
    Verbosity is a bias on end-of-sequence tokens: with VERBOSITY["low"] an end is three times as likely against any
    other token as with "medium", with "high" a third.
    """
    detection = given.get("repetition_detection") or {}
    longest = int(detection.get("max_pattern_size") or 0)
    repetition = None
    if longest:
        shortest, count = int(detection.get("min_pattern_size") or 0), int(detection.get("min_count") or 0)
        try:
            repetition = Repetition(longest, max(shortest, 1), count)
        except ValueError as error:
            raise ApiError("invalid_request", f"repetition_detection: {error}", param="repetition_detection") from error
    return {"repetition": repetition, "end_bias": VERBOSITY.get(given.get("verbosity") or "medium", 0.0)}


def content_text(content: str | Sequence[Mapping[str, Any]]) -> str:
    """Return message content as one string, with one line for each content part."""
    if isinstance(content, str):
        return content
    return "\n".join(part["refusal"] if part.get("type") == "refusal" else part["text"] for part in content)


def effort_options(effort: str | None) -> dict[str, Any]:
    """Return the template options for a reasoning effort: whether to reason, and how much."""
    return {} if effort is None else {"enable_thinking": effort != "none", "reasoning_effort": effort}


def thinking_budget(given: Mapping[str, Any]) -> int | None:
    """Return the reasoning budget in tokens: the number in the request, else the one for its effort."""
    budget = _integer(given.get("thinking_token_budget"))
    if budget is not None:
        return None if budget < 0 else budget
    return EFFORTS.get(given.get("reasoning_effort") or "max")


def _choice_params(contract: Contract, sent: Mapping[str, Any], given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parameters about the number of choices and about beam search.

    A dialect with use_beam_search turns beam search on by it. The width is n, as in vLLM and MindIE's source, or
    best_of if that is greater. Where the document names that parameter as unsupported, a best_of above 1 turns beam
    search on and is the width (ovms-2024.4#request/unsupported/use_beam_search).

    If the dialect returns all of best_of, that is the number of choices, whatever n is.

    No document says into how many groups the diversity penalty divides the beams. OpenVINO Model Server has one group,
    where the penalty has no effect. So there is one group unless another penalty than the default is sent; then every
    beam is its own group.
    """
    n, best_of = _integer(given.get("n")) or 1, _integer(sent.get("best_of"))
    by_best_of = "use_beam_search" in contract.unsupported and (best_of or 1) > 1
    if not given.get("use_beam_search", by_best_of):
        returns_all = best_of is not None and contract.answer.best_of == "all"
        return {"n": best_of if returns_all else n, "best_of": best_of}
    width = max(n, best_of or 1)
    diversity = sent.get("diversity_penalty")
    if diversity is not None and diversity == contract.parameters["diversity_penalty"].default:
        diversity = None
    return {
        "n": n,
        "best_of": width,
        "beam_search": True,
        "length_penalty": given.get("length_penalty", 1.0),
        "beam_groups": 1 if diversity is None else width,
        "diversity_penalty": diversity or 0.0,
    }


def _logprobs(contract: Contract, sent: Mapping[str, Any]) -> int | None:
    """Return how many alternatives to report with each token's log-probability; None: report no log-probabilities."""
    logprobs, top = sent.get("logprobs"), sent.get("top_logprobs")
    if logprobs is False and top:
        words = f"top_logprobs is {top}, but logprobs is false: remove one of them"
        raise ApiError("invalid_request", words, param="top_logprobs")
    if top == -1:  # vLLM also lists at most 20 unless its operator sets another limit
        words = f"top_logprobs is -1: expected 0 to {MAX_LOGPROBS}"
        raise ApiError("invalid_request", words, param="top_logprobs")
    if logprobs is None and top is not None and TOP_LOGPROBS_SUFFICE in contract.rules:
        logprobs = True
    if not logprobs or (sent.get("stream") and NO_STREAMED_LOGPROBS in contract.rules):
        return None
    return int(top or 0)


def _max_tokens(contract: Contract, given: Mapping[str, Any]) -> int | None:
    """Return the maximum number of generated tokens; a dialect may cap it for ignore_eos when no number was sent."""
    newer = given.get("max_completion_tokens")
    limit = _integer(given.get("max_tokens") if newer is None else newer)
    capped = given.get("ignore_eos") and IGNORE_EOS_CAPPED in contract.rules
    return IGNORE_EOS_LIMIT if limit is None and capped else limit


def _integer(value: float | None) -> int | None:
    """Convert an integral number to int: JSON Schema counts 20.0 as an integer."""
    return None if value is None else int(value)


def _bad_words(words: Sequence[str]) -> tuple[str, ...]:
    """Return the words; raise ApiError if they are numerous enough to delay every step of the engine."""
    if len(words) > MAX_BAD_WORDS or sum(map(len, words)) > MAX_BAD_WORD_CHARACTERS:
        words_allowed = f"at most {MAX_BAD_WORDS} words with {MAX_BAD_WORD_CHARACTERS} characters in total"
        raise ApiError("invalid_request", f"invalid bad_words: expected {words_allowed}", param="bad_words")
    return tuple(words)
