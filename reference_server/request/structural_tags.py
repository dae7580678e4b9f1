"""Grammars of structural tags: any text in which triggers begin structures, in the older form and in the newer one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from openapi.stream.strict_json import quote
from reference_server.errors import ApiError
from reference_server.request.client_schema import dump

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    Json = dict[str, Any]
    JsonRule = Callable[[Json], str]

ANY_TEXT: Final = "ANY_TEXT: /(.|\\n)*/"
KINDS: Final = ("json_schema", "const_string", "any_text", "tag", "sequence", "or", "triggered_tags")
DEEPEST: Final = 16
"""Formats inside each other at most."""


def write_tags_grammar(tags: Mapping[str, Any], json_rule: JsonRule) -> str:
    """Return the grammar of structural tags as Lark rules for `content`. json_rule: writes the rule for a schema."""
    writer = _Writer(json_rule)
    if "format" in tags:
        content = writer.write(tags["format"])
    else:
        structures = tags.get("structures")
        known = structures if isinstance(structures, list) else []
        content = writer.triggered(
            [
                {**item, "content": {"type": "json_schema", "json_schema": item.get("schema")}}
                if isinstance(item, dict)
                else item
                for item in known
            ],
            tags.get("triggers"),
        )
    return "\n".join([f"content: {content}", ANY_TEXT, *writer.rules])


class _Writer:
    """Writes the body of a rule for each format, and collects the rules that these bodies name."""

    def __init__(self, json_rule: JsonRule) -> None:
        self.rules: list[str] = []
        self._json_rule = json_rule

    def write(self, form: Any, depth: int = 0) -> str:
        """Return the body of a rule for a format. Raises ApiError if it is invalid or not supported."""
        kind = form.get("type") if isinstance(form, dict) else None
        if kind not in KINDS or depth > DEEPEST:
            raise _invalid(f"expected a format whose type is one of {', '.join(KINDS)}, at most {DEEPEST} deep")
        match kind:
            case "json_schema" if isinstance(form.get("json_schema"), dict):
                return self._json_rule(form["json_schema"])
            case "const_string" if isinstance(form.get("value"), str):
                return _literal(form["value"])
            case "any_text":
                return "ANY_TEXT"
            case "tag":
                return self._tag(form, "", depth)
            case "sequence" | "or" if isinstance(form.get("elements"), list) and form["elements"]:
                written = [f"({self.write(element, depth + 1)})" for element in form["elements"]]
                return (" " if kind == "sequence" else " | ").join(written)
            case "triggered_tags":
                return self.triggered(form.get("tags"), form.get("triggers"), depth)
        raise _invalid(f"a format of the type {kind} lacks its content")

    def triggered(self, tags: Any, triggers: Any, depth: int = 0) -> str:
        """Return the body of a rule for text in which each trigger begins one of the tags."""
        if not isinstance(tags, list) or not isinstance(triggers, list) or not tags or not triggers:
            raise _invalid("expected structures and triggers, or a format")
        alternatives = []
        opened: dict[str, str] = {}
        for tag in tags:
            begin = tag.get("begin") if isinstance(tag, dict) else None
            if not isinstance(begin, str):
                raise _invalid("expected tags with a begin, a schema or content, and an end")
            trigger = next(
                (text for text in triggers if isinstance(text, str) and text and begin.startswith(text)), None
            )
            if trigger is None:
                raise _invalid(f"no trigger matches the beginning {quote(begin)}: add one")
            if trigger not in opened:
                opened[trigger] = f"trigger_{len(self.rules)}"
                self.rules.append(f"{opened[trigger]}[lazy]: ANY_TEXT {dump(trigger)}")
            alternatives.append(f"{opened[trigger]} {self._tag(tag, trigger, depth)}")
        return f"({' | '.join(alternatives)})* ANY_TEXT"

    def _tag(self, tag: Mapping[str, Any], trigger: str, depth: int) -> str:
        """Return the body of a rule for what follows the trigger of a tag."""
        begin, end = tag.get("begin"), tag.get("end")
        if not (isinstance(begin, str) and isinstance(end, str)):
            raise _invalid("expected tags with a begin, a schema or content, and an end")
        content = self.write(tag.get("content"), depth + 1)
        return f"{_literal(begin[len(trigger) :])} ({content}) {_literal(end)}".strip()


def _literal(text: str) -> str:
    return dump(text) if text else ""


def _invalid(words: str) -> ApiError:
    return ApiError("invalid_request", f"invalid structural tag: {words}")
