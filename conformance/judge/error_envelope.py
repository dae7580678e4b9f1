"""Envelopes: the forms in which servers report errors, as a table, and the one that a body has.

Knowing whose form it is tells more than a list of missing members: a `detail` comes from the framework and not from the
server, a flat `object: error` from an old vLLM behind the address.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from conformance.exchange import Exchange

Kinds = type | tuple[type, ...]


@dataclass(frozen=True, slots=True)
class Form:
    """One form: the members that it has, by path, with their types, and where its message stands."""

    name: str
    members: dict[str, Kinds]
    message: str


FORMS: Final = (  # the first that fits is the one
    Form("Anthropic", {"type": str, "error.type": str, "error.message": str}, "error.message"),
    Form("Google", {"error.code": int, "error.status": str, "error.message": str}, "error.message"),
    Form("OpenAI", {"error.message": str, "error.type": (str, type(None))}, "error.message"),
    Form("message under error", {"error.message": str}, "error.message"),
    Form("MindIE or TGI", {"error": str, "error_type": str}, "error"),
    Form("MindIE Motor", {"error": str, "type": str}, "error"),
    Form("Spring", {"error": str, "timestamp": (str, int), "path": str}, "error"),
    Form("OVMS", {"error": str}, "error"),
    Form("vLLM before 2025", {"object": str, "message": str}, "message"),
    Form("Siliconstorm", {"code": int, "result": object, "message": str}, "message"),
    Form("code and message", {"code": (int, str), "message": str}, "message"),
    Form("problem details of RFC 9457", {"title": str}, "title"),
    Form("FastAPI", {"detail": (str, list, dict)}, "detail"),
    Form("Triton", {"message": str}, "message"),
)
_HTML: Final = re.compile(r"\s*<(?:!doctype|html|head|body)\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Envelope:
    """What a body is. `name` is that of its form, or says what it is instead; `form` is None then."""

    name: str
    form: Form | None
    value: Any

    @property
    def message(self) -> Any:
        """What stands where the form has its message; None without a form."""
        return None if self.form is None else _at(self.value, self.form.message)

    def member(self, name: str) -> Any:
        """A member of the error, wherever the form has its members; None where there is none."""
        if not isinstance(self.value, dict):
            return None
        inner = self.value.get("error")
        return inner.get(name) if isinstance(inner, dict) else self.value.get(name)


_ABSENT: Final = object()


def envelope_of(exchange: Exchange) -> Envelope:
    """The envelope of a refusal."""
    value = exchange.json
    if isinstance(value, dict):
        for form in FORMS:
            if all(_has(_at(value, path), kinds) for path, kinds in form.members.items()):
                return Envelope(form.name, form, value)
        return Envelope("a JSON object of no known form", None, value)
    if not exchange.json_error:
        return Envelope("JSON that is no object", None, value)
    if not exchange.body.strip():
        return Envelope("an empty body", None, None)
    return Envelope("HTML" if _HTML.match(exchange.text) else "plain text", None, None)


def _at(value: Any, path: str) -> Any:
    for name in path.split("."):
        value = value.get(name, _ABSENT) if isinstance(value, dict) else _ABSENT
    return value


def _has(value: Any, kinds: Kinds) -> bool:
    if isinstance(value, bool):  # Python's own kind of int, and no member of an error
        return False
    return value is not _ABSENT and isinstance(value, kinds)
