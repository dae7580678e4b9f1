"""Make examples of the requests, answers, chunks and errors of a dialect from its contract.

Requests show only what the contract accepts: the fields that satisfy each rule, and the values of probes. Answers have
the form of the dialect. The texts are our own. Tests validate every example against its schema.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from openapi.contract.parameter import Keyword

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from openapi.contract.contract import Contract
    from openapi.contract.parameter import Parameter

CREATED: Final = 1767225600
"""Unix time in all examples: the first second of 2026."""
MAX_VALUE_CHARACTERS: Final = 100
"""Maximum length, as JSON, of an example of a single parameter."""
DONE: Final = "[DONE]"
CONVERSATION: Final = [
    {"role": "system", "content": "Answer in one short sentence."},
    {"role": "user", "content": "Why is the sky blue?"},
]
PIECES: Final = ("Air scatters", " blue light most.")
SAMPLING: Final = {
    "max_tokens": 64,
    "temperature": 0.7,
    "top_p": 0.9,
    "top_k": 40,
    "seed": 42,
    "repetition_penalty": 1.1,
    "presence_penalty": 0.5,
    "frequency_penalty": 0.25,
}
STOPPING: Final = {"max_tokens": 64, "stop": ["\n\n", "END"]}
KIND_SUMMARY: Final = {
    "invalid_json": "the body is not JSON",
    "invalid_request": "a parameter violates its schema",
    "unknown_model": "the server has no such model",
    "prompt_too_long": "the prompt is too long",
    "unauthorized": "the API key is missing",
    "invalid_key": "the API key is wrong",
    "not_found": "the path does not exist",
    "method_not_allowed": "the path expects another method",
    "too_large": "the body is too large",
    "unsupported_media_type": "the body is not application/json",
    "overloaded": "the server is at capacity or shutting down",
    "engine_failure": "the engine failed",
}
"""One line about each kind of error."""
MESSAGES: Final = {
    "invalid_json": "the body is not JSON: it ends inside a string",
    "invalid_request": "messages is required",
    "unknown_model": "model: unknown model",
    "prompt_too_long": "the prompt has 9000 tokens, more than the context of 8192",
    "unauthorized": "send the API key as a bearer token",
    "invalid_key": "the API key is wrong",
}
"""Error messages of the examples; other kinds use their summary."""


@dataclass(frozen=True, slots=True)
class Example:
    """One value, with its name and one line that describes it."""

    name: str
    summary: str
    value: Any


@dataclass(frozen=True, slots=True)
class Examples:
    """All examples of one contract.

    `parameters` maps each parameter to short values of it; `refusals` maps each kind of error to a response body.
    """

    parameters: Mapping[str, list[Any]]
    requests: tuple[Example, ...]
    answer: Example
    chunks: tuple[Example, ...]
    events: tuple[Example, ...]
    models: Example
    refusals: Mapping[str, Example]


def make_examples(contract: Contract) -> Examples:
    """Make all examples of a contract. They may share values with it: copy them before they are changed."""
    chunks = tuple(_chunks(contract))
    return Examples(
        parameters={name: _values(parameter) for name, parameter in contract.parameters.items()},
        requests=tuple(_requests(contract)),
        answer=_answer(contract),
        chunks=chunks,
        events=tuple(_events(chunks)),
        models=_models(contract),
        refusals={kind: _refusal(contract, kind) for kind in contract.errors.kinds},
    )


def _values(parameter: Parameter) -> list[Any]:
    """Return short values that every server of the dialect should accept, whatever capabilities it lacks."""
    values: list[Any] = []
    for probe in parameter.probes:
        certain = probe.keyword is not Keyword.MAY and probe.capability is None
        short = len(json.dumps(probe.value)) <= MAX_VALUE_CHARACTERS
        if probe.expect == "accept" and certain and short and probe.value not in values:
            values.append(probe.value)
    return values


def _requests(contract: Contract) -> Iterator[Example]:
    """Yield requests that the contract accepts, the simplest first."""
    supported = {name for name, parameter in contract.parameters.items() if not parameter.lacking}
    plain = {"model": contract.default_model, "messages": CONVERSATION}
    yield Example("plain", "The smallest request", plain)
    if "stream" in supported:
        yield Example("streamed", "A request for a stream of events", {**plain, "stream": True})
    for name, summary, fields in (
        ("sampling", "How tokens are sampled", SAMPLING),
        ("stopping", "Where the answer ends", STOPPING),
    ):
        yield Example(name, summary, {**plain, **{key: value for key, value in fields.items() if key in supported}})
    yield from _tool_requests(contract, plain)
    for rule in contract.rules.values():
        if rule.kept is not None:
            yield Example(rule.id, rule.summary, {**plain, **rule.kept})


def _tool_requests(contract: Contract, plain: dict[str, Any]) -> Iterator[Example]:
    """Yield a question with a function to call, and the next request, which returns the function's result."""
    tools = _accepted_probe(contract.parameters.get("tools"), "one-function")
    if tools is None:
        return
    question = [{"role": "user", "content": "What is the weather in Rome?"}]
    yield Example("function", "A function that the model may call", {**plain, "messages": question, "tools": tools})
    messages = _accepted_probe(contract.parameters["messages"], "assistant-with-calls-only")
    if messages is not None:
        with_result = {**plain, "messages": messages, "tools": tools}
        yield Example("function-result", "The result of the function", with_result)


def _accepted_probe(parameter: Parameter | None, name: str) -> Any:
    """Return the value of the accepted probe with this name, or None; unsupported parameters have no probes."""
    probes = () if parameter is None else parameter.probes
    return next((probe.value for probe in probes if probe.name == name and probe.expect == "accept"), None)


def _answer(contract: Contract) -> Example:
    """Make a whole answer in the form of the dialect."""
    form = contract.answer
    value = {
        **_common_fields(contract, "chat.completion"),
        "choices": [
            {
                "index": 0,
                "message": {"role": "assistant", "content": "".join(PIECES), **form.message},
                **form.choice,
                "finish_reason": "stop",
            }
        ],
        "usage": _usage(contract),
    }
    if form.timings:
        value |= {"prefill_time": 31.5, "decode_time_arr": [9.25]}
    return Example("plain", "The whole answer", value)


def _chunks(contract: Contract) -> Iterator[Example]:
    """Yield the chunks of a stream in the form of the dialect: text, end, and usage if it has its own chunk."""
    form = contract.stream

    def chunk(text: str, finish_reason: str | None, first: bool, **extra: Any) -> dict[str, Any]:
        with_role = form.role == "every-delta" or (form.role == "first-delta" and first)
        delta = {"role": "assistant", "content": text} if with_role else {"content": text}
        choices = [{"index": 0, "delta": delta, "finish_reason": finish_reason}]
        fields = {**_common_fields(contract, "chat.completion.chunk"), **extra, "choices": choices}
        return _ordered(fields, form.key_order)

    if form.opening_chunk:
        yield Example("opening", "The stream begins", chunk("", None, True))
    for at, piece in enumerate(PIECES):
        yield Example(f"text-{at + 1}", "A piece of text", chunk(piece, None, at == 0 and not form.opening_chunk))
    if form.usage == "with-finish":
        yield Example("end", "The answer ends", chunk("", "stop", False, usage=_usage(contract)))
    else:
        yield Example("end", "The answer ends", chunk("", "stop", False))
        usage = {**_common_fields(contract, "chat.completion.chunk"), "choices": [], "usage": _usage(contract)}
        yield Example("usage", "The usage, if it was requested", _ordered(usage, form.key_order))


def _events(chunks: tuple[Example, ...]) -> Iterator[Example]:
    """Yield the events that carry the chunks, and the event that ends the stream."""
    for chunk in chunks:
        yield Example(chunk.name, chunk.summary, {"data": json.dumps(chunk.value, ensure_ascii=False)})
    yield Example("done", "The stream ends", {"data": DONE})


def _models(contract: Contract) -> Example:
    """Make the list of models of a server that has one."""
    entry = {"id": contract.default_model, "object": "model", "created": CREATED, "owned_by": "chatproof"}
    return Example("one", "The server has one model", {"object": "list", "data": [entry]})


def _refusal(contract: Contract, kind: str) -> Example:
    """Make the response body for one kind of error, in the error envelope of the dialect."""
    summary = KIND_SUMMARY[kind]
    _, body = contract.errors.render(kind, MESSAGES.get(kind, summary))
    return Example(kind, summary[0].upper() + summary[1:], body)


def _common_fields(contract: Contract, kind: str) -> dict[str, Any]:
    prefix = contract.answer.id_prefix
    identity = {} if prefix is None else {"id": f"{prefix}1"}
    return {**identity, "object": kind, "created": CREATED, "model": contract.default_model}


def _usage(contract: Contract) -> dict[str, Any]:
    form = contract.answer
    counts: dict[str, Any] = {"prompt_tokens": 25}
    if form.cached_tokens:
        counts["prompt_tokens_details"] = {"cached_tokens": 0}
    counts |= {"completion_tokens": len(PIECES), "total_tokens": 25 + len(PIECES)}
    if form.token_arrays:
        counts |= {"batch_size": [1] * len(PIECES), "queue_wait_time": [120] * len(PIECES)}
    return counts


def _ordered(chunk: dict[str, Any], key_order: tuple[str, ...]) -> dict[str, Any]:
    return {key: chunk[key] for key in key_order if key in chunk}
