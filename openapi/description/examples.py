"""Examples: requests, answers, chunks and refusals of a dialect, made of its contract. Pure.

A request shows what the contract knows to be accepted: the members that keep each rule, and what probes send. Answers
take the dialect's forms. Texts are our own. Tests hold every example against the schema it stands beside.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from openapi.contract.parameter import Keyword

if TYPE_CHECKING:
    from collections.abc import Iterator

    from openapi.contract.contract import Contract
    from openapi.contract.parameter import Parameter

CREATED: Final = 1767225600
"""Unix time of every example: the first second of 2026."""
LONGEST: Final = 100
"""Characters of JSON that an example of a single parameter may take."""
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
REFUSALS: Final = {
    "invalid_json": "the body is not JSON: it ends inside a text",
    "invalid_request": "messages is required",
    "unknown_model": "model: there is no such model",
    "prompt_too_long": "the prompt has 9000 tokens, more than the 8192 that fit",
    "unauthorized": "send the API key as a bearer token",
    "invalid_key": "the API key is wrong",
}


@dataclass(frozen=True, slots=True)
class Example:
    """One value with its name and one line that says what it shows."""

    name: str
    summary: str
    value: Any


def values(parameter: Parameter) -> list[Any]:
    """Short values of one parameter that a server should accept, whatever else it offers."""
    found: list[Any] = []
    for probe in parameter.probes:
        sure = probe.keyword is not Keyword.MAY and probe.capability is None
        if probe.expect == "accept" and sure and len(json.dumps(probe.value)) <= LONGEST and probe.value not in found:
            found.append(probe.value)
    return found


def requests(contract: Contract) -> Iterator[Example]:
    """Requests that the contract accepts, the plainest first."""
    known = {name for name, parameter in contract.parameters.items() if not parameter.lacking}
    plain = {"model": contract.default_model, "messages": CONVERSATION}
    yield Example("plain", "The least a request holds", plain)
    if "stream" in known:
        yield Example("streamed", "An answer as a stream of events", {**plain, "stream": True})
    for name, summary, members in (
        ("sampling", "How tokens are chosen", SAMPLING),
        ("stopping", "Where an answer ends", STOPPING),
    ):
        yield Example(name, summary, {**plain, **{key: value for key, value in members.items() if key in known}})
    yield from _calls(contract, plain)
    for rule in contract.rules.values():
        if rule.kept is not None:
            yield Example(rule.id, rule.summary, {**plain, **rule.kept})


def _calls(contract: Contract, plain: dict[str, Any]) -> Iterator[Example]:
    """Function calling: the question, and the question asked again with what a function returned."""
    declared = _probed(contract.parameters.get("tools"), "one-function")
    if declared is None:
        return
    asked = [{"role": "user", "content": "What is the weather in Rome?"}]
    yield Example("function", "A function that the model may call", {**plain, "messages": asked, "tools": declared})
    returned = _probed(contract.parameters["messages"], "assistant-with-calls-only")
    if returned is not None:
        with_result = {**plain, "messages": returned, "tools": declared}
        yield Example("function-result", "What the function returned", with_result)


def _probed(parameter: Parameter | None, name: str) -> Any:
    """The value of a probe that is accepted, by its name. A parameter that the server lacks has none."""
    probes = () if parameter is None else parameter.probes
    return next((probe.value for probe in probes if probe.name == name and probe.expect == "accept"), None)


def answer(contract: Contract) -> Example:
    """A whole answer in the form of the dialect."""
    form = contract.answer
    value = {
        **_heading(contract, "chat.completion"),
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


def chunks(contract: Contract) -> Iterator[Example]:
    """The chunks of a stream in the form of the dialect: texts, the end, and the usage where it was asked for."""
    form = contract.stream

    def chunk(text: str, finish_reason: str | None, first: bool, **extra: Any) -> dict[str, Any]:
        speaks = form.role == "every-delta" or (form.role == "first-delta" and first)
        delta = {"role": "assistant", "content": text} if speaks else {"content": text}
        choices = [{"index": 0, "delta": delta, "finish_reason": finish_reason}]
        return _ordered({**_heading(contract, "chat.completion.chunk"), **extra, "choices": choices}, form.key_order)

    if form.opening_chunk:
        yield Example("opening", "The stream begins", chunk("", None, True))
    for at, piece in enumerate(PIECES):
        yield Example(f"text-{at + 1}", "A piece of text", chunk(piece, None, at == 0 and not form.opening_chunk))
    if form.usage == "with-finish":
        yield Example("end", "The answer ends", chunk("", "stop", False, usage=_usage(contract)))
    else:
        yield Example("end", "The answer ends", chunk("", "stop", False))
        counted = {**_heading(contract, "chat.completion.chunk"), "choices": [], "usage": _usage(contract)}
        yield Example("usage", "The usage that was asked for", _ordered(counted, form.key_order))


def events(contract: Contract) -> Iterator[Example]:
    """The events that carry the chunks, and the one that ends the stream."""
    for chunk in chunks(contract):
        yield Example(chunk.name, chunk.summary, {"data": json.dumps(chunk.value, ensure_ascii=False)})
    yield Example("done", "The stream ends", {"data": DONE})


def models(contract: Contract) -> Example:
    """The list of one served model."""
    entry = {"id": contract.default_model, "object": "model", "created": CREATED, "owned_by": "chatproof"}
    return Example("one", "One model is served", {"object": "list", "data": [entry]})


def refusal(contract: Contract, kind: str, summary: str) -> Example:
    """The body of one kind of refusal, in the envelope of the dialect."""
    _, body = contract.errors.render(kind, REFUSALS.get(kind, summary))
    return Example(kind, summary[0].upper() + summary[1:], body)


def _heading(contract: Contract, kind: str) -> dict[str, Any]:
    prefix = contract.answer.id_prefix
    named = {} if prefix is None else {"id": f"{prefix}1"}
    return {**named, "object": kind, "created": CREATED, "model": contract.default_model}


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
