"""Text that streams lose, repeat or break."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

import orjson

from openapi.stream import sse
from reference_server.faults.decorators import around, at_seams, fault, knows, said_by, spoken
from reference_server.faults.fault_middleware import Faulty
from reference_server.faults.hooks import DATA, DONE, Seams

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from starlette.types import ASGIApp

    from openapi.contract.contract import Contract
    from reference_server.faults.fault import Fault
    from reference_server.faults.hooks import Json, Told


def _text(choice: Json) -> str:
    return choice["delta"].get("content") or ""


@fault("cumulative-text", "chunk", bugs=[17])
def cumulative_text(chunk: Json, told: Told) -> None:
    """Deltas hold all the text so far."""
    for choice in chunk["choices"]:
        key = f"text{choice['index']}"
        told.memory[key] = told.memory.get(key, "") + _text(choice)
        choice["delta"]["content"] = told.memory[key]


@fault("repeats-last-character", "chunk", bugs=[14])
def repeats_last_character(chunk: Json, told: Told) -> None:
    """Each delta begins with the last character of the one before."""
    for choice in chunk["choices"]:
        said = _text(choice)
        if said:
            choice["delta"]["content"] = told.memory.get("last", "") + said
            told.memory["last"] = said[-1]


@fault("first-text-lost", "chunk", bugs=[16])
def first_text_lost(chunk: Json, told: Told) -> None:
    """The text of the first chunk that has some is lost."""
    for choice in chunk["choices"]:
        if _text(choice) and not told.memory.get("lost"):
            told.memory["lost"] = True
            choice["delta"]["content"] = ""


@fault("last-text-lost", "event", bugs=[16])
def last_text_lost(frame: bytes, told: Told) -> Iterator[bytes]:
    """The chunk before the one that ends a stream is lost."""
    held = told.memory.pop("held", None)
    if held is not None and b'"finish_reason":null' in frame:
        yield held
    elif held is not None and not told.memory.get("ended"):
        told.memory["ended"] = True
    elif held is not None:
        yield held
    if b'"finish_reason":null' in frame:
        told.memory["held"] = frame
    else:
        yield frame


@fault("spaces-lost", "chunk", bugs=[16])
def spaces_lost(chunk: Json, _told: Told) -> None:
    """White space at the start of a delta is lost."""
    for choice in chunk["choices"]:
        choice["delta"]["content"] = _text(choice).lstrip()


@fault("characters-cut", "chunk", bugs=[13])
def characters_cut(chunk: Json, _told: Told) -> None:
    """A character beyond ASCII is cut between two tokens and comes as U+FFFD."""
    for choice in chunk["choices"]:
        choice["delta"]["content"] = "".join(char if char.isascii() else "\ufffd\ufffd" for char in _text(choice))


def _cut(choice: Json, _told: Told) -> None:
    said = spoken(choice)
    said["content"] = "".join(char if char.isascii() else "\ufffd" for char in said.get("content") or "")


def _special(choice: Json, _told: Told) -> None:
    if choice["finish_reason"] is not None:
        spoken(choice)["content"] = (spoken(choice).get("content") or "") + "<|im_end|>"


characters_cut_plain = said_by(
    "characters-cut-plain", _cut, "Characters beyond ASCII come as U+FFFD in plain answers.", streamed=False, bugs=[13]
)
special_tokens_leak = said_by(
    "special-tokens-leak", _special, "The special token that ends an answer stands in its text.", bugs=[64]
)


@around("beams-wander", fits=knows("use_beam_search"), bugs=[106])
def beams_wander(app: ASGIApp, contract: Contract) -> ASGIApp:
    """A beam search says something else each time."""
    asked = itertools.count(1)

    def change(answer: Json, told: Told) -> None:
        if told.sent.get("use_beam_search"):
            number = next(asked)
            for choice in answer["choices"]:
                choice["message"]["content"] = f"{choice['message']['content']} {number}"

    return Faulty(app, contract, Seams(answer=change))


def _beams_alike(answer: Json, told: Told) -> None:
    if told.sent.get("use_beam_search"):
        first = answer["choices"][0]["message"]
        for choice in answer["choices"]:
            choice["message"] = first


def _mis_escaped(told: Told) -> None:
    if b"\\u" in told.body:
        for message in told.sent.get("messages") or ():
            if isinstance(message, dict) and isinstance(message.get("content"), str):
                message["content"] = message["content"].encode("ascii", "ignore").decode() + "?"


def _by_order(told: Told) -> None:
    if next(iter(told.sent), "") != "model" and "max_tokens" in told.sent and isinstance(told.sent["max_tokens"], int):
        _shorter(told)


def _by_space(told: Told) -> None:
    if told.body.startswith(b"{\n") and isinstance(told.sent.get("max_tokens"), int):
        _shorter(told)


beams_alike = at_seams(
    "beams-alike", "All beams say the same.", answer=_beams_alike, fits=knows("use_beam_search"), bugs=[48]
)
escapes_misread = at_seams(
    "escapes-misread", "Characters that are escaped in the request are lost.", request=_mis_escaped
)
order_matters = at_seams("order-matters", "Answers are shorter where the model is not named first.", request=_by_order)
space_matters = at_seams(
    "space-matters", "Answers are shorter where the request's JSON is indented.", request=_by_space
)


@fault("cut-loses-character", "answer", bugs=[16])
def cut_loses_a_character(answer: Json, _told: Told) -> None:
    """An answer that the limit cut lacks its first character."""
    for choice in answer["choices"]:
        if choice["finish_reason"] == "length":
            choice["message"]["content"] = (choice["message"]["content"] or "")[1:]


@fault("stream-cut-mid-character", "chunk", bugs=[13])
def stream_is_cut_in_a_character(chunk: Json, told: Told) -> None:
    """A stream that the limit cut ends with half a character."""
    for choice in chunk["choices"]:
        if choice["finish_reason"] == "length" and (told.sent.get("n") or 1) == 1:
            choice["delta"]["content"] = (choice["delta"].get("content") or "") + "\ufffd"


def _shorter(told: Told) -> None:
    limit = told.sent.get("max_tokens")
    if isinstance(limit, int) and limit > 2:
        told.sent["max_tokens"] = 2


def shortened_by(name: str, hit: Callable[[Json], bool], line: str, **options: Any) -> Fault:
    """A fault that shows in shorter answers to requests that are hit."""
    return at_seams(name, line, request=lambda told: _shorter(told) if hit(told.sent) else None, **options)


def _knows_more(told: Told) -> None:
    if set(told.sent) - set(told.contract.parameters):
        _shorter(told)


defaults_matter = shortened_by(
    "defaults-matter",
    lambda sent: any(sent.get(name) is not None for name in ("top_p", "presence_penalty", "frequency_penalty", "n")),
    "Answers are shorter where a default is sent.",
)
logprobs_matter = shortened_by(
    "logprobs-matter",
    lambda sent: bool(sent.get("logprobs")),
    "Answers with log-probabilities are shorter.",
    fits=knows("logprobs"),
)
one_choice_matters = shortened_by(
    "one-choice-matters", lambda sent: sent.get("n") == 1, "Answers are shorter where one choice is asked for.",
    fits=knows("n"),
)  # fmt: skip
empty_tools_matter = shortened_by(
    "empty-tools-matter", lambda sent: sent.get("tools") == [], "Answers are shorter beside an empty list of tools.",
    fits=knows("tools"),
)  # fmt: skip
strangers_matter = at_seams("strangers-matter", "A member that nobody knows changes the answer.", request=_knows_more)


def _seeded_hot(told: Told) -> None:
    if told.sent.get("temperature") == 0 and told.sent.get("seed") is not None:
        told.sent["temperature"] = 1.9


def _eaten(answer: Json, told: Told) -> None:
    if told.sent.get("stop"):
        for choice in answer["choices"]:
            choice["message"]["content"] = (choice["message"]["content"] or "")[1:]


seed_heats = at_seams(
    "seed-heats", "A seed makes a greedy answer a sampled one.", request=_seeded_hot, fits=knows("seed"), bugs=[106]
)
stop_eats = at_seams("stop-eats", "A stop text eats the first character of an answer.", answer=_eaten, bugs=[60])


@fault("marked-answers", "plain")
def answers_are_marked(body: bytes, _told: Told) -> bytes:
    """A byte order mark comes before plain answers."""
    return b"\xef\xbb\xbf" + body


@fault("role-at-the-end", "chunk", bugs=[37])
def role_comes_at_the_end(chunk: Json, _told: Told) -> None:
    """The role comes with the last delta."""
    for choice in chunk["choices"]:
        choice["delta"].pop("role", None)
        if choice["finish_reason"] is not None:
            choice["delta"]["role"] = "assistant"


@fault("all-indices-zero", "chunk", fits=knows("n"), bugs=[45])
def all_indices_are_zero(chunk: Json, _told: Told) -> None:
    """Every choice is streamed with the index 0."""
    for choice in chunk["choices"]:
        choice["index"] = 0


@fault("whole-text-again", "event", bugs=[14])
def whole_text_comes_again(frame: bytes, told: Told) -> Iterator[bytes]:
    """Before the last chunk comes one more, with the whole answer."""
    chunk = {} if frame == DONE else orjson.loads(frame.removeprefix(DATA))
    for choice in chunk.get("choices") or ():
        told.memory["text"] = told.memory.get("text", "") + (choice["delta"].get("content") or "")
        if choice["finish_reason"] is not None and told.memory["text"]:
            again = {**choice, "delta": {**choice["delta"], "content": told.memory["text"]}, "finish_reason": None}
            spare = {name: value for name, value in chunk.items() if name not in ("usage", "full_text")}
            yield sse.encode(orjson.dumps({**spare, "choices": [again]}))
    yield frame


@fault("thirtieth-event-twice", "event", bugs=[14])
def thirtieth_event_comes_twice(frame: bytes, told: Told) -> Iterator[bytes]:
    """The thirtieth event of a stream comes twice."""
    yield frame
    if told.at == 30 and b'"finish_reason":null' in frame:
        yield frame
