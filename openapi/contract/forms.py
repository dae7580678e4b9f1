"""The format of errors, responses and streams in a dialect, as the reference server sends them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from collections.abc import Mapping

    from openapi.schema.json_schema import Schema


@dataclass(frozen=True, slots=True)
class ErrorKind:
    """How the reference server reports one kind of error."""

    status: int
    phrase: str | None = None
    code: int | str | None = None


@dataclass(frozen=True, slots=True)
class ErrorTable:
    """The error envelope of a dialect: its schema, its template, and the status of each kind of error.

    in_answers: whether the document lets a server respond with status 200 and an `err_msg` in place of an error.
    """

    schema: Schema
    body: Mapping[str, Any]
    kinds: Mapping[str, ErrorKind]
    in_answers: bool = False

    def render(self, kind: str, message: str, param: str | None = None) -> tuple[int, dict[str, Any]]:
        """Return the status and the body of an error. `kind` is a row of the table; invalid_key falls back to
        unauthorized. `param` is the invalid parameter, if there is one; some envelopes have no field for it.
        """
        row = self.kinds.get(kind) or self.kinds["unauthorized" if kind == "invalid_key" else kind]
        fills = {"{message}": message, "{phrase}": row.phrase, "{code}": row.code, "{param}": param}
        return row.status, {key: _fill(template, fills) for key, template in self.body.items()}


def _fill(template: Any, fills: Mapping[str, Any]) -> Any:
    """Replace the placeholders of a template at any depth."""
    if isinstance(template, dict):
        return {key: _fill(value, fills) for key, value in template.items()}
    if isinstance(template, list):
        return [_fill(value, fills) for value in template]
    return fills.get(template, template) if isinstance(template, str) else template


@dataclass(frozen=True, slots=True)
class AnswerForm:
    """How the reference server writes a response that is not streamed.

    `silence`: the content of a message that has tool calls and no text.
    `role_from`: the parameter that, if it is false, may give the answer the role of the last message of the request.
    """

    id_prefix: str | None
    message: Mapping[str, Any]
    choice: Mapping[str, Any]
    timings: bool
    token_arrays: bool
    cached_tokens: bool
    silence: str | None = ""
    role_from: str | None = None
    best_of: Literal["n", "all"] = "n"  # how many of the best_of sequences are returned without beam search


@dataclass(frozen=True, slots=True)
class StreamForm:
    """How the reference server writes a streamed response."""

    role: Literal["every-delta", "first-delta", "never"]
    usage: Literal["with-finish", "on-request"]
    opening_chunk: bool
    full_text: Literal["optional", "never"]
    key_order: tuple[str, ...]
    stop_text: Literal["excluded", "included"] = "excluded"
