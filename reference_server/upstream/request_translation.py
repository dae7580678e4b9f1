"""From the engine's parameters to the body that an upstream takes. Pure."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any, Final

import orjson

from reference_server.engine import SamplingParams
from reference_server.errors import ApiError
from reference_server.upstream.kind import BY_BEST_OF, words

if TYPE_CHECKING:
    from collections.abc import Mapping

    from reference_server.engine import ToolUse
    from reference_server.upstream.kind import Kind, Way

Json = dict[str, Any]
NEUTRAL: Final[Mapping[str, Any]] = {field.name: field.default for field in fields(SamplingParams)}
INT64: Final = 2**63
THOUGHTLESS: Final = {"enable_thinking": False}
"""What the server itself tells the template where its dialect knows no thoughts."""

CHOICES: Final = frozenset({"n", "best_of", "beam_search", "length_penalty", "diversity_penalty"})
STOPS: Final = frozenset({"stop", "include_stop_str_in_output"})
SEED_STEP: Final = 0x9E3779B97F4A7C15
"""Of one choice's seed from the next, modulo 2**64 (the odd step of SplitMix64)."""


@dataclass(frozen=True, slots=True)
class Conversation:
    """What the gateway has for a prompt: the upstream makes tokens of it."""

    messages: list[dict[str, Any]]
    tools: list[dict[str, Any]] | None
    template_kwargs: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Ask:
    """One request to an upstream, and what is left to do with its answer.

    members: of its body, but for the model. params: what the reader of the answer still has to see to: it asks for as
    many choices as will come. stream: whether the answer comes in pieces. cut: whether stop texts are cut here.
    ends: whether the upstream ends there by itself too.
    """

    members: Json
    params: SamplingParams
    stream: bool
    cut: bool
    ends: bool


def asks(
    kind: Kind, conversation: Conversation, params: SamplingParams, *, counts_each: bool
) -> tuple[list[Ask], bool]:
    """The requests that together answer one, and whether only the likeliest of their choices go on.

    counts_each: whether the tokens of every choice have to be told apart. Raises ApiError for what can neither be
    passed nor emulated.

    Several requests make several choices where the upstream has no `n`, where it tells the tokens of all of them only
    together, and where it is greedy, which several servers refuse. Each is a sample of its own. Their seeds go on from
    the one that was sent, so the first choice is the answer of n: 1 and all of them come again with it.
    """
    _refuse(kind, params)
    ranked = params.ranked and kind.ways["best_of"].emulated == "ranked"
    if ranked:  # each token's log-probability is needed, and is the count of tokens at the same time
        params = replace(params, n=params.width, best_of=None, logprobs=params.logprobs or 0)
    blind = counts_each and kind.usage == "whole" and not ranked
    separate = kind.ways["n"].emulated == "requests" or blind or params.temperature == 0
    if params.n > 1 and not params.known_at_end and separate:
        singles = [replace(params, n=1, best_of=None, seed=_next_seed(params.seed, index)) for index in range(params.n)]
        return [_ask(kind, conversation, single) for single in singles], ranked
    return [_ask(kind, conversation, params)], ranked


def _refuse(kind: Kind, params: SamplingParams) -> None:
    for field in fields(SamplingParams):
        value = getattr(params, field.name)
        if value == field.default or field.name in {"beam_groups", "best_of", "grammar"}:
            continue  # of the first two more is to be known: see _choices; a grammar goes as what it was made of
        way = kind.ways.get(field.name)
        if way is None or way.refused is not None:
            if field.name == "include_stop_str_in_output" and not params.stop:
                continue
            reason = "the gateway cannot translate it" if way is None else way.refused
            raise _refusal(name_of(field.name), reason)


def _refusal(asked: str, reason: str | None = "leave it out") -> ApiError:
    """Of a parameter, or a member of one, that the engine behind has not got."""
    words = f"{asked} cannot be had from the engine here: {reason}"
    return ApiError("invalid_request", words, param=asked.partition(".")[0])


def name_of(field: str) -> str:
    """What clients call a parameter of the engine."""
    return "use_beam_search" if field == "beam_search" else field


def _ask(kind: Kind, conversation: Conversation, params: SamplingParams) -> Ask:
    stop = kind.ways["stop"]
    tools = _tools(kind, conversation.tools, params.tools)
    few = len(params.stop) <= (stop.most or len(params.stop))
    hidden = kind.ways["include_stop_str_in_output"].passed is None and not stop.cut  # it would cut what is to be shown
    told = stop.passed is not None and few and (kind.stops_beside_tools or not tools)
    told = told and not (hidden and params.include_stop_str_in_output)
    cut = bool(params.stop) and (stop.cut or not told)
    members: Json = {"messages": [_message(kind, message) for message in conversation.messages]}
    for field in words():
        way = kind.ways[field]
        left_out = field in CHOICES or (field in STOPS and not told)
        if way.passed is not None and not left_out:
            members |= _written(way, getattr(params, field))
    members |= _choices(kind, params)
    members |= tools
    members |= _template(kind, conversation.template_kwargs)
    members = _nested({**kind.always, **members})
    # A search is known at its end only, and vLLM does not stream one.
    stream = not params.beam_search and (params.logprobs is None or kind.streams_logprobs)
    if stream:
        members["stream"] = True
        if kind.usage_on_request:
            members["stream_options"] = {"include_usage": True}
            if kind.usage == "each-chunk":
                members["stream_options"]["continuous_usage_stats"] = True
    return Ask(members, params, stream, cut, told)


def _written(way: Way, value: Any) -> Json:
    """The members that say the value; none for what asks for nothing that is not so anyway."""
    name = way.passed or ""
    if value is None:
        return {}
    match way.form:
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
            return {name: value if value > 0 else 0 if way.least == 0 else -1}
        case "floored":
            return {name: value if way.least is None else max(value, way.least)}
        case "folded":
            return {name: _folded(value, way)}
        case "alternatives":
            return {name: True, **({"top_logprobs": value} if value else {})}
        case "nothing":
            return {}
    return {name: value}


def _nested(members: Json) -> Json:
    """The members with those of dotted names as JSON text inside one, as transformers' generation_config is sent."""
    inner = {name: value for name, value in members.items() if "." in name}
    flat = {name: value for name, value in members.items() if name not in inner}
    for holder in dict.fromkeys(name.partition(".")[0] for name in inner):
        held = {name.partition(".")[2]: value for name, value in inner.items() if name.startswith(f"{holder}.")}
        flat[holder] = orjson.dumps(held).decode()
    return flat


def _message(kind: Kind, message: Json) -> Json:
    """The message as the upstream takes it: a developer speaks as the system where it knows none, as OpenAI's older
    models have it (openai-api-2026#request/messages)."""
    if message["role"] == "developer" and kind.roles is not None and "developer" not in kind.roles:
        return {**message, "role": "system"}
    return message


def _folded(seed: int, way: Way) -> int:
    """The seed as the upstream's range has it: equal seeds stay equal."""
    if way.most is None or seed <= way.most:
        return seed
    return seed - 2 * INT64 if way.least == -INT64 else seed % (way.most + 1)


def _choices(kind: Kind, params: SamplingParams) -> Json:
    """How many answers, and how they are found."""
    best_of, search = kind.ways["best_of"], kind.ways["beam_search"]
    if params.beam_search:
        members = {} if params.n == 1 else _written(kind.ways["n"], params.n)
        if search.passed == BY_BEST_OF:
            if params.width == 1:
                return {"temperature": 0}  # a search with one beam takes the likeliest token each time
            members |= {BY_BEST_OF: params.width}
        else:
            members |= {search.passed or "": True}
            if params.width > params.n and best_of.passed is None:
                raise _refusal("best_of", "it has none beside a beam search")
            members |= {best_of.passed: params.width} if best_of.passed and params.width > params.n else {}
        diversity = kind.ways["diversity_penalty"]
        if params.beam_groups > 1:
            if diversity.passed is None:
                raise _refusal("diversity_penalty")
            members |= {diversity.passed: params.diversity_penalty}
        lengths = kind.ways["length_penalty"]
        if lengths.passed is not None:
            members |= {lengths.passed: params.length_penalty}
        return {"temperature": 1.0, **members}  # it has no part in a search, and several servers refuse 0 beside n
    if params.ranked:
        if best_of.passed is None:
            raise _refusal("best_of", best_of.refused)
        return {best_of.passed: params.width, **({"n": params.n} if params.n > 1 else {})}
    return {} if params.n == 1 else _written(kind.ways["n"], params.n)


def _tools(kind: Kind, shown: list[Json] | None, use: ToolUse | None) -> Json:
    """The tools as they were sent, and which of them may or must be called; none, where none may."""
    if not shown or use is None or not use.tools:
        return {}
    shown = [{"type": "function", **tool, "function": _less(tool["function"])} for tool in shown]
    names = {tool.name for tool in use.tools}
    every = names == {tool["function"]["name"] for tool in shown}
    if use.required and len(names) == 1 and not (every and use.parallel):
        return {"tools": shown, "tool_choice": {"type": "function", "function": {"name": use.tools[0].name}}}
    if not every:
        raise _refusal("tool_choice.allowed_tools", "send those tools")
    if not use.parallel and not kind.parallel:
        raise _refusal("parallel_tool_calls")
    choice = {"tool_choice": "required"} if use.required else {}
    return {"tools": shown, **choice, **({} if use.parallel else {"parallel_tool_calls": False})}


def _less(function: Json) -> Json:
    """The function without members that are null, which say nothing and which some refuse."""
    return {name: value for name, value in function.items() if value is not None}


def _template(kind: Kind, given: Mapping[str, Any]) -> Json:
    if kind.template:
        return {"chat_template_kwargs": dict(given)} if given else {}
    if given and dict(given) != THOUGHTLESS:
        raise _refusal("chat_template_kwargs")
    return {}


def _next_seed(seed: int | None, index: int) -> int | None:
    return None if seed is None else (seed + index * SEED_STEP) % (2 * INT64)
