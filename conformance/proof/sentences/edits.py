"""Edits of recorded answers, written as data: which answers a deviation changes, and how.

Conditions, all of which an answer must meet:

- `request`: a JSON Schema of the request body;
- `form`: `plain` or `stream`; both by default;
- `status`: `answered` (the default), `refused` or `any`;
- `scope`: `every` or `later`: all choices, or those after the first; by default both, one after the other;
- `chunks`: `all` (the default), `first`, `last`, `with-choices`, `last-text` or `finishing`: which chunks of
  a stream.

Edits, of which there is at least one:

- `set`: values by path; `remove`: paths; `replace`: new values by old ones, by path; `add`: numbers by path;
- `append`: strings by path; `vary`: paths of strings to which a word is appended, another one in each exchange;
- `shorten`: by path, how many characters a string lacks at its end;
- `repeat`: paths of lists whose items come twice;
- `http`: a status; `headers`: values by name, where null removes the header; `body`: the whole body as text;
- `done`: `missing`, `twice`, or JSON data of an event that follows `[DONE]`;
- `outcome`: `answered` or `refused` instead of the recorded outcome.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final, Literal
from zlib import crc32

from jsonschema_rs import validator_for

from conformance.proof.editing.responses import dump, with_body, with_header, with_status
from conformance.proof.editing.streams import Frame, edit_frames
from conformance.proof.sentences.paths import find_places
from openapi.stream import sse
from openapi.stream.strict_json import NOT_JSON, read_json

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from conformance.exchange import Exchange

Scope = Literal["every", "later"]
"""The choices that an edit changes: every one, or only those after the first."""
CHUNKS: Final = ("all", "first", "last", "with-choices", "last-text", "finishing")
DONE: Final = b"[DONE]"
EVERY_CHOICE: Final = "choices/*/"


@dataclass(frozen=True, slots=True)
class AnswerEdit:
    """One written edit. `of` maps the names of edits to their values. `scope`: see `Scope`."""

    of: Mapping[str, Any]
    chunks: str = "all"
    scope: Scope = "every"

    def apply(self, exchange: Exchange) -> Exchange | None:
        """Return the changed exchange; None if the edit changes nothing in it."""
        if "vary" in self.of:
            return self._with_word(f" {crc32(exchange.id.encode()):x}").apply(exchange)
        changed = exchange
        if any(name in self.of for name in OPERATIONS):
            edited = self._edit_stream(changed) if exchange.is_stream else self._edit_plain(changed)
            if edited is None:
                return None
            changed = edited
        if "done" in self.of:
            if not exchange.is_stream:
                return None
            changed = _edit_end(changed, self.of["done"])
        if "body" in self.of:
            changed = with_body(changed, self.of["body"].encode())
        for name, value in self.of.get("headers", {}).items():
            changed = with_header(changed, name, value)
        return with_status(changed, self.of["http"]) if "http" in self.of else changed

    def _with_word(self, word: str) -> AnswerEdit:
        """Return the edit with a word to append in place of `vary`."""
        of = {name: value for name, value in self.of.items() if name != "vary"}
        return replace(self, of={**of, "append": {**of.get("append", {}), **dict.fromkeys(self.of["vary"], word)}})

    def _edit_plain(self, exchange: Exchange) -> Exchange | None:
        if not isinstance(exchange.json, dict):
            return None
        holder = json.loads(json.dumps(exchange.json))
        return with_body(exchange, dump(holder)) if self._edit_holder(holder, streamed=False) else None

    def _edit_stream(self, exchange: Exchange) -> Exchange | None:
        values = [read_json(event.data).value for event in exchange.events]
        chunks = [value if isinstance(value, dict) else None for value in values]
        edited = {at for at in self._choose(chunks) if self._edit_holder(chunks[at] or {}, streamed=True)}
        if not edited:
            return None
        return edit_frames(
            exchange,
            lambda frames: [frame.with_value(chunks[at]) if at in edited else frame for at, frame in enumerate(frames)],
        )

    def _choose(self, chunks: list[dict[str, Any] | None]) -> set[int]:
        at = [place for place, chunk in enumerate(chunks) if chunk is not None]
        with_choices = [place for place in at if (chunks[place] or {}).get("choices")]
        match self.chunks:
            case "first":
                return set(at[:1])
            case "last":
                return set(at[-1:])
            case "with-choices":
                return set(with_choices)
            case "last-text":
                return set([place for place in with_choices if _has_text(chunks[place] or {})][-1:])
            case "finishing":
                return {place for place in with_choices if _finishes(chunks[place] or {})}
        return set(at)

    def _edit_holder(self, holder: dict[str, Any], *, streamed: bool) -> bool:
        """AnswerEdit the JSON object of an answer or a chunk; return whether anything has changed."""
        before = json.dumps(holder)
        for name, operation in OPERATIONS.items():
            paths = self.of.get(name, {})
            for path in paths:
                places = self._places(holder, path, streamed, lacking=name == "set")
                for parent, key in reversed(places):  # so that removing an item moves no other place
                    operation(parent, key, paths[path] if isinstance(paths, dict) else None)
        return json.dumps(holder) != before

    def _places(self, holder: Any, path: str, streamed: bool, *, lacking: bool) -> list[tuple[Any, Any]]:
        if self.scope == "every" or not path.startswith(EVERY_CHOICE):
            return list(find_places(holder, path, streamed=streamed, lacking=lacking))
        later = [choice for choice in _choices(holder) if isinstance(choice, dict) and choice.get("index") != 0]
        rest = path.removeprefix(EVERY_CHOICE)
        return [place for choice in later for place in find_places(choice, rest, streamed=streamed, lacking=lacking)]


def matcher(schema: Any) -> Callable[[Any], bool]:
    """Return a function that tells whether a request body is JSON that is valid by a JSON Schema."""
    validator = validator_for(schema)
    return lambda body: body is not NOT_JSON and validator.is_valid(body)


def _choices(holder: Any) -> list[Any]:
    choices = holder.get("choices") if isinstance(holder, dict) else None
    return choices if isinstance(choices, list) else []


def _finishes(chunk: dict[str, Any]) -> bool:
    return any(isinstance(choice, dict) and choice.get("finish_reason") for choice in _choices(chunk))


def _has_text(chunk: dict[str, Any]) -> bool:
    deltas = [choice.get("delta") for choice in _choices(chunk) if isinstance(choice, dict)]
    return any(isinstance(delta, dict) and delta.get("content") for delta in deltas)


def _set(node: Any, key: Any, value: Any) -> None:
    node[key] = value


def _remove(node: Any, key: Any, _: Any) -> None:
    del node[key]


def _replace(node: Any, key: Any, values: Mapping[Any, Any]) -> None:
    if not isinstance(node[key], dict | list) and node[key] in values:
        node[key] = values[node[key]]


def _add(node: Any, key: Any, number: Any) -> None:
    if isinstance(node[key], int | float) and not isinstance(node[key], bool):
        node[key] += number


def _append(node: Any, key: Any, text: Any) -> None:
    if isinstance(node[key], str):
        node[key] += text


def _shorten(node: Any, key: Any, number: Any) -> None:
    if isinstance(node[key], str):
        node[key] = node[key][:-number]


def _repeat(node: Any, key: Any, _: Any) -> None:
    if isinstance(node[key], list):
        node[key] = [*node[key], *json.loads(json.dumps(node[key]))]


OPERATIONS: Final[Mapping[str, Callable[[Any, Any, Any], None]]] = {
    "set": _set,
    "remove": _remove,
    "replace": _replace,
    "add": _add,
    "append": _append,
    "shorten": _shorten,
    "repeat": _repeat,
}
"""What the edits of JSON do at a place, in the order in which they are applied."""
EDITS: Final = (*OPERATIONS, "vary", "http", "headers", "body", "done")


def _edit_end(exchange: Exchange, done: Any) -> Exchange:
    """Return a stream whose end differs: without `[DONE]`, with two, or with an event after it."""

    def edit(frames: list[Frame]) -> list[Frame]:
        kept = [frame for frame in frames if DONE not in frame.raw]
        last = frames[-1]
        if done == "missing":
            return kept
        extra = DONE if done == "twice" else dump(done)
        return [*frames, Frame(last.at_s, sse.encode(extra))]

    return edit_frames(exchange, edit)
