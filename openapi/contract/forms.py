"""How a dialect writes what it sends: errors, plain answers, streams. The reference server follows these forms."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from collections.abc import Mapping

    from openapi.schema.json_schema import Schema


@dataclass(frozen=True, slots=True)
class ErrorKind:
    """How the reference server answers one kind of refusal."""

    status: int
    phrase: str | None = None
    code: int | str | None = None


@dataclass(frozen=True, slots=True)
class ErrorTable:
    """The dialect's error envelope: its schema, its form, and the status of each kind."""

    schema: Schema
    body: Mapping[str, Any]
    kinds: Mapping[str, ErrorKind]

    def render(self, kind: str, message: str, param: str | None = None) -> tuple[int, dict[str, Any]]:
        """Status and body of a refusal. `kind` is a row of the table; invalid_key falls back to unauthorized.

        param: the parameter that is wrong, where it is one; several envelopes have no place for it.
        """
        row = self.kinds.get(kind) or self.kinds["unauthorized" if kind == "invalid_key" else kind]
        fills = {"{message}": message, "{phrase}": row.phrase, "{code}": row.code, "{param}": param}
        return row.status, {key: _filled(form, fills) for key, form in self.body.items()}


def _filled(form: Any, fills: Mapping[str, Any]) -> Any:
    """The form with its places filled in, at any depth: an envelope may nest."""
    if isinstance(form, dict):
        return {key: _filled(value, fills) for key, value in form.items()}
    if isinstance(form, list):
        return [_filled(value, fills) for value in form]
    return fills.get(form, form) if isinstance(form, str) else form


@dataclass(frozen=True, slots=True)
class AnswerForm:
    """How the reference server writes a plain answer. silence: the content where there are calls and no words."""

    id_prefix: str | None
    message: Mapping[str, Any]
    choice: Mapping[str, Any]
    timings: bool
    token_arrays: bool
    cached_tokens: bool
    silence: str | None = ""
    best_of: Literal["n", "all"] = "n"  # how many of best_of sequences come back where nothing searches


@dataclass(frozen=True, slots=True)
class StreamForm:
    """How the reference server writes a stream."""

    role: Literal["every-delta", "first-delta", "never"]
    usage: Literal["with-finish", "on-request"]
    opening_chunk: bool
    full_text: Literal["optional", "never"]
    key_order: tuple[str, ...]
    stop_text: Literal["excluded", "included"] = "excluded"
