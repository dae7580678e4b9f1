"""Recognize the form in which a server reports an error.

The name of the form says more than a list of missing fields: a `detail` comes from the web framework and not from the
server, a flat `object: error` from an old vLLM behind the address.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from conformance.exchange import Exchange

Types = type | tuple[type, ...]


@dataclass(frozen=True, slots=True)
class EnvelopeForm:
    """One form of an error body.

    fields: the fields that the form has, by path, with their types.
    message: the path of the message.
    """

    name: str
    fields: dict[str, Types]
    message: str


ENVELOPE_FORMS: Final = (  # the first one that matches is used
    EnvelopeForm("Anthropic", {"type": str, "error.type": str, "error.message": str}, "error.message"),
    EnvelopeForm("Google", {"error.code": int, "error.status": str, "error.message": str}, "error.message"),
    EnvelopeForm("OpenAI", {"error.message": str, "error.type": (str, type(None))}, "error.message"),
    EnvelopeForm("message under error", {"error.message": str}, "error.message"),
    EnvelopeForm("MindIE or TGI", {"error": str, "error_type": str}, "error"),
    EnvelopeForm("MindIE Motor", {"error": str, "type": str}, "error"),
    EnvelopeForm("Spring", {"error": str, "timestamp": (str, int), "path": str}, "error"),
    EnvelopeForm("OVMS", {"error": str}, "error"),
    EnvelopeForm("vLLM before 2025", {"object": str, "message": str}, "message"),
    EnvelopeForm("Siliconstorm", {"code": int, "result": object, "message": str}, "message"),
    EnvelopeForm("code and message", {"code": (int, str), "message": str}, "message"),
    EnvelopeForm("problem details of RFC 9457", {"title": str}, "title"),
    EnvelopeForm("FastAPI", {"detail": (str, list, dict)}, "detail"),
    EnvelopeForm("Triton", {"message": str}, "message"),
)
_HTML: Final = re.compile(r"\s*<(?:!doctype|html|head|body)\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class ErrorEnvelope:
    """The body of a refusal.

    name: the name of its form, or what the body is instead.
    form: None if the body has no known form.
    """

    name: str
    form: EnvelopeForm | None
    value: Any

    @property
    def message(self) -> Any:
        """The value at the path of the form's message; None without a form."""
        return None if self.form is None else _at(self.value, self.form.message)

    def field(self, name: str) -> Any:
        """Return a field of the error, under `error` or at the top level, or None if it is missing."""
        if not isinstance(self.value, dict):
            return None
        inner = self.value.get("error")
        return inner.get(name) if isinstance(inner, dict) else self.value.get(name)


_ABSENT: Final = object()


def envelope_of(exchange: Exchange) -> ErrorEnvelope:
    """Return the error envelope of a refusal."""
    value = exchange.json
    if isinstance(value, dict):
        for form in ENVELOPE_FORMS:
            if all(_has_type(_at(value, path), types) for path, types in form.fields.items()):
                return ErrorEnvelope(form.name, form, value)
        return ErrorEnvelope("a JSON object of no known form", None, value)
    if not exchange.json_error:
        return ErrorEnvelope("JSON but not an object", None, value)
    if not exchange.body.strip():
        return ErrorEnvelope("an empty body", None, None)
    return ErrorEnvelope("HTML" if _HTML.match(exchange.text) else "plain text", None, None)


def names_any(exchange: Exchange, names: Iterable[str]) -> bool:
    """Tell whether a string in the body names one of the parameters.

    Whole words, because "n" is part of almost every message. ASCII, because Chinese text has no spaces around it.
    """
    alternatives = "|".join(re.escape(name) for name in names)
    named = re.compile(rf"(?<!\w)(?:{alternatives})(?!\w)", re.ASCII | re.IGNORECASE)
    return any(named.search(text) for text in texts_within(exchange.json))


def texts_within(value: Any) -> Iterator[str]:
    """Yield all strings within a JSON value."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for item in value.values():
            yield from texts_within(item)
    elif isinstance(value, list):
        for item in value:
            yield from texts_within(item)


def _at(value: Any, path: str) -> Any:
    for name in path.split("."):
        value = value.get(name, _ABSENT) if isinstance(value, dict) else _ABSENT
    return value


def _has_type(value: Any, types: Types) -> bool:
    if isinstance(value, bool):  # bool is a subclass of int, but no field of an error is one
        return False
    return value is not _ABSENT and isinstance(value, types)
