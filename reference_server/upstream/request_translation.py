"""Translation of the engine's parameters to the request bodies that an upstream takes."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

import orjson

from reference_server.engine import SamplingParams
from reference_server.errors import ApiError
from reference_server.upstream.kind import BY_BEST_OF
from reference_server.upstream.parameters import engine_parameters

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from reference_server.engine import ToolUse
    from reference_server.upstream.kind import UpstreamKind
    from reference_server.upstream.parameters import ParameterHandling

Json = dict[str, Any]
ENGINE_DEFAULTS: Final[Mapping[str, Any]] = {field.name: field.default for field in fields(SamplingParams)}
INT64: Final = 2**63
UNREACHABLE: Final = 2**24
"""More tokens than any answer or vocabulary has, so that a smaller number than this is never put in its place."""
REASONING_OFF: Final = {"enable_thinking": False}
"""Template arguments that the server itself sets if its dialect has no reasoning."""

NO_EFFORT: Final = (("reasoning_effort", "none"),)
"""What else the server sets if the request turns reasoning off by its effort."""

CHOICE_PARAMETERS: Final = frozenset({"n", "best_of", "beam_search", "length_penalty", "diversity_penalty"})
STOP_PARAMETERS: Final = frozenset({"stop", "include_stop_str_in_output"})
STOP_TOKENS: Final = "stop_token_ids"
SEED_STEP: Final = 0x9E3779B97F4A7C15
"""Difference between the seeds of consecutive choices, modulo 2**64 (the odd step of SplitMix64)."""


@dataclass(frozen=True, slots=True)
class Conversation:
    """The gateway's form of a prompt; the upstream converts it to tokens."""

    messages: list[dict[str, Any]]
    tools: list[dict[str, Any]] | None
    template_kwargs: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class UpstreamRequest:
    """One request to an upstream, and what the reader of its answer has to do.

    body: fields of the body, without the model.
    params: parameters for the reader; n is the number of choices in the answer.
    stream: whether the answer is a stream.
    cut: whether the gateway cuts the text at stop strings.
    stops_upstream: whether the upstream stops generating at stop strings.
    """

    body: Json
    params: SamplingParams
    stream: bool
    cut: bool
    stops_upstream: bool


def translate_request(
    kind: UpstreamKind,
    conversation: Conversation,
    params: SamplingParams,
    *,
    counts_each: bool,
    neutral: Mapping[str, Sequence[Any]] = MappingProxyType({}),
) -> tuple[list[UpstreamRequest], bool]:
    """Return the upstream requests for one client request, and whether to keep only the most likely of their choices.

    counts_each: whether the tokens of each choice must be counted separately.
    neutral: values of engine parameters that are accepted even if the upstream lacks the parameter.
    Raises ApiError for parameters that can be neither passed on nor emulated.

    Several choices are made by several requests if the upstream has no `n`, if it counts only the tokens of all choices
    together, and if sampling is greedy, for which several servers refuse `n`. Each choice is an independent sample. The
    seeds continue from the one in the request, so the first choice is the answer of `n: 1`, and equal seeds give equal
    choices.
    """
    params = params if params.reasoning else replace(params, thinking_budget=None)
    _refuse_unsupported(kind, params, neutral)
    ranked = params.ranked and kind.handling["best_of"].emulated == "ranked"
    if ranked:  # ranking needs each token's log-probability, which also gives the number of tokens
        params = replace(params, n=params.width, best_of=None, logprobs=params.logprobs or 0)
    cannot_count_each = counts_each and kind.usage == "whole" and not ranked
    samples_one = kind.handling["n"].emulated == "requests" or kind.samples_one
    separate = samples_one or cannot_count_each or params.temperature == 0
    if params.n > 1 and not params.known_at_end and separate:
        singles = [replace(params, n=1, best_of=None, seed=_next_seed(params.seed, index)) for index in range(params.n)]
        return [_translate(kind, conversation, single) for single in singles], ranked
    return [_translate(kind, conversation, params)], ranked


def _refuse_unsupported(kind: UpstreamKind, params: SamplingParams, neutral: Mapping[str, Sequence[Any]]) -> None:
    for field in fields(SamplingParams):
        value = getattr(params, field.name)
        accepted = [field.default, *neutral.get(field.name, ())]
        if any(value == other and isinstance(value, bool) is isinstance(other, bool) for other in accepted):
            continue
        if field.name in {"beam_groups", "best_of", "grammar"}:
            continue  # for the first two see _choice_fields; a grammar is sent as response_format or structured_outputs
        handling = kind.handling.get(field.name)
        if handling is None or handling.refused is not None:
            if field.name == "include_stop_str_in_output" and not params.stop:
                continue
            reason = "the gateway cannot translate it" if handling is None else handling.refused
            raise _unsupported(name_for_clients(field.name), reason)


def _unsupported(name: str, reason: str | None = "remove it") -> ApiError:
    """The error for a parameter, or for one of its fields, that the upstream engine does not support."""
    words = f"{name} is not supported by the engine behind this server: {reason}"
    return ApiError("invalid_request", words, param=name.partition(".")[0])


def name_for_clients(key: str) -> str:
    """Return the clients' name of an engine parameter."""
    return "use_beam_search" if key == "beam_search" else key


def _translate(kind: UpstreamKind, conversation: Conversation, params: SamplingParams) -> UpstreamRequest:
    stop = kind.handling["stop"]
    tools = _tool_fields(kind, conversation.tools, params.tools)
    few = len(params.stop) <= (stop.most or len(params.stop))
    few = few and all(len(text) <= (stop.longest or len(text)) for text in params.stop)
    # If the upstream removes stop strings from its text, it must not stop at those that the client wants to see.
    removes = kind.handling["include_stop_str_in_output"].passed is None and not stop.cut
    stops_upstream = stop.passed is not None and few and (kind.stops_with_tools or not tools)
    stops_upstream = stops_upstream and not (removes and params.include_stop_str_in_output)
    cut = bool(params.stop) and (stop.cut or not stops_upstream)
    body: Json = {"messages": [_message(kind, message) for message in conversation.messages]}
    for key in engine_parameters():
        handling = kind.handling[key]
        omitted = key in CHOICE_PARAMETERS or (key in STOP_PARAMETERS and not stops_upstream)
        if handling.passed is not None and not omitted:
            body |= _write_value(handling, getattr(params, key))
    if tools and not kind.stops_with_tools and STOP_TOKENS in body:
        raise _unsupported(STOP_TOKENS, "it cannot be combined with tools")  # and the gateway sees no token ids
    body |= _choice_fields(kind, params)
    body |= tools
    body |= _template_fields(kind, conversation.template_kwargs)
    body = _nest_dotted_names({**kind.always, **body})
    # The result of a beam search is known only at its end, and vLLM does not stream one.
    stream = not params.beam_search and (params.logprobs is None or kind.streams_logprobs)
    if stream:
        body["stream"] = True
        if kind.usage_on_request:
            body["stream_options"] = {"include_usage": True}
            if kind.usage == "each-chunk":
                body["stream_options"]["continuous_usage_stats"] = True
    return UpstreamRequest(body, params, stream, cut, stops_upstream)


def _write_value(handling: ParameterHandling, value: Any) -> Json:
    """Return the fields for a value; none for a neutral value that is the default anyway."""
    name = handling.passed or ""
    if value is None:
        return {}
    match handling.form:
        case "texts":
            return {name: list(value)} if value else {}
        case "ids":
            return {name: sorted(value)} if value else {}
        case "json":
            return {name: orjson.loads(value)}
        case "asked":
            return {name: True} if value else {}
        case "bias":
            return {name: {str(token): bias for token, bias in value}} if value else {}
        case "count":
            beyond = handling.most is not None and value > handling.most >= UNREACHABLE
            return {name: value if value > 0 and not beyond else 0 if handling.least == 0 else -1}
        case "floored":
            return {name: value if handling.least is None else max(value, handling.least)}
        case "capped":
            return {name: value if handling.most is None else min(value, max(handling.most, UNREACHABLE))}
        case "folded":
            return {name: _fold_seed(value, handling)}
        case "alternatives":
            return {name: True, **({"top_logprobs": value} if value else {})}
        case "nothing":
            return {}
    return {name: value}


def _nest_dotted_names(body: Json) -> Json:
    """Move fields with dotted names into a JSON string, which is how transformers takes its generation_config."""
    dotted = {name: value for name, value in body.items() if "." in name}
    nested = {name: value for name, value in body.items() if name not in dotted}
    for outer in dict.fromkeys(name.partition(".")[0] for name in dotted):
        inner = {name.partition(".")[2]: value for name, value in dotted.items() if name.startswith(f"{outer}.")}
        nested[outer] = orjson.dumps(inner).decode()
    return nested


def _message(kind: UpstreamKind, message: Json) -> Json:
    """Return the message as the upstream takes it.

    A developer message becomes a system message if the upstream has no developer role, as for OpenAI's older models
    (openai-api-2026#request/messages).
    """
    if message["role"] == "developer" and kind.roles is not None and "developer" not in kind.roles:
        return {**message, "role": "system"}
    return message


def _fold_seed(seed: int, handling: ParameterHandling) -> int:
    """Map the seed to the upstream's range, so that equal seeds stay equal."""
    if handling.most is None or seed <= handling.most:
        return seed
    return seed - 2 * INT64 if handling.least == -INT64 else seed % (handling.most + 1)


def _choice_fields(kind: UpstreamKind, params: SamplingParams) -> Json:
    """Return the fields about the number of choices and about beam search."""
    best_of, search = kind.handling["best_of"], kind.handling["beam_search"]
    if params.beam_search:
        body = {} if params.n == 1 else _write_value(kind.handling["n"], params.n)
        if search.passed == BY_BEST_OF:
            if params.width == 1:
                return {"temperature": 0}  # a search with one beam takes the most likely token each time
            body |= {BY_BEST_OF: params.width}
        else:
            body |= {search.passed or "": True}
            if params.width > params.n and best_of.passed is None:
                raise _unsupported("best_of", "it cannot be combined with a beam search")
            body |= {best_of.passed: params.width} if best_of.passed and params.width > params.n else {}
        diversity = kind.handling["diversity_penalty"]
        if params.beam_groups > 1:
            if diversity.passed is None:
                raise _unsupported("diversity_penalty")
            body |= {diversity.passed: params.diversity_penalty}
        lengths = kind.handling["length_penalty"]
        if lengths.passed is not None:
            body |= {lengths.passed: params.length_penalty}
        return {"temperature": 1.0, **body}  # has no effect on a search; several servers refuse 0 together with n
    if params.ranked:
        if best_of.passed is None:
            raise _unsupported("best_of", best_of.refused)
        return {best_of.passed: params.width, **({"n": params.n} if params.n > 1 else {})}
    return {} if params.n == 1 else _write_value(kind.handling["n"], params.n)


def _tool_fields(kind: UpstreamKind, tools: list[Json] | None, use: ToolUse | None) -> Json:
    """Return the tools as the client sent them, and which of them may or must be called; no fields if none may be."""
    if not tools or use is None or not use.tools:
        return {}
    tools = [{"type": "function", **tool, "function": _without_nulls(tool["function"])} for tool in tools]
    names = {tool.name for tool in use.tools}
    every = names == {tool["function"]["name"] for tool in tools}
    if use.required and len(names) == 1 and not (every and use.parallel):
        return {"tools": tools, "tool_choice": {"type": "function", "function": {"name": use.tools[0].name}}}
    if not every:
        raise _unsupported("tool_choice.allowed_tools", "send only those tools")
    if not use.parallel and not kind.parallel:
        raise _unsupported("parallel_tool_calls")
    choice = {"tool_choice": "required"} if use.required else {}
    return {"tools": tools, **choice, **({} if use.parallel else {"parallel_tool_calls": False})}


def _without_nulls(function: Json) -> Json:
    """Return the function without null fields, which have no meaning and which some servers refuse."""
    return {name: value for name, value in function.items() if value is not None}


def _template_fields(kind: UpstreamKind, template_kwargs: Mapping[str, Any]) -> Json:
    if kind.template:
        return {"chat_template_kwargs": dict(template_kwargs)} if template_kwargs else {}
    sent = {name: value for name, value in template_kwargs.items() if (name, value) not in NO_EFFORT}
    if sent and sent != REASONING_OFF:
        raise _unsupported("chat_template_kwargs")
    return {}


def _next_seed(seed: int | None, index: int) -> int | None:
    return None if seed is None else (seed + index * SEED_STEP) % (2 * INT64)
