"""The kinds of requests in which generated faults show, and the JSON Schemas that say which requests are of a kind.

Real servers have faults that show in one kind of request only, because streams, calls, forms and media take paths of
their own through them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping


class Kind(NamedTuple):
    """A kind of request.

    fields: the JSON Schemas of the fields that make a request one of this kind.
    present: whether these fields must be present.
    """

    line: str
    fields: Mapping[str, Any]
    present: bool = True


def _with_message(schema: Mapping[str, Any]) -> Mapping[str, Any]:
    return {"messages": {"type": "array", "contains": {"type": "object", **schema}}}


def with_role(*roles: str) -> Mapping[str, Any]:
    """Return the schema of requests that have a message of one of these roles."""
    return _with_message({"required": ["role"], "properties": {"role": {"enum": list(roles)}}})


def _with_part(kind: str) -> Mapping[str, Any]:
    part = {"type": "object", "required": ["type"], "properties": {"type": {"const": kind}}}
    return _with_message({"required": ["content"], "properties": {"content": {"type": "array", "contains": part}}})


KINDS: Final[Mapping[str, Kind]] = {
    "in-streams": Kind("in streams", {"stream": {"const": True}}),
    "in-plain-answers": Kind("in plain answers", {"stream": {"enum": [False, None]}}, present=False),
    "next-to-tools": Kind("next to tools", {"tools": {"type": "array", "minItems": 1}}),
    "next-to-a-form": Kind(
        "next to a response_format",
        {"response_format": {"type": "object", "properties": {"type": {"not": {"const": "text"}}}}},
    ),
    "next-to-choices": Kind("next to several choices", {"n": {"type": "integer", "minimum": 2}}),
    "next-to-logprobs": Kind("next to log-probabilities", {"logprobs": {"const": True}}),
    "next-to-a-seed": Kind("next to a seed", {"seed": {"type": "integer"}}),
    "next-to-stop": Kind("next to stop strings", {"stop": {"type": ["string", "array"]}}),
    "when-greedy": Kind("at temperature 0", {"temperature": {"const": 0}}),
    "after-instructions": Kind("after instructions", with_role("system", "developer")),
    "after-an-answer": Kind("after an earlier answer", with_role("assistant")),
    "after-a-result": Kind("after the result of a tool", with_role("tool")),
    "in-parts": Kind("next to text in parts", _with_part("text")),
    "next-to-an-image": Kind("next to an image", _with_part("image_url")),
}
