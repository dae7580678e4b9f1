"""State the errors of a page: the form of their bodies, and the status of each kind of error.

The form is that of the page alone: what the extended dialect says about the bodies of errors is left out.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from openapi.importing.answers.error_kinds import assign_statuses
from openapi.importing.answers.value_schema import make_value_schema
from openapi.importing.interface import AnswerChanges
from openapi.importing.sentences import find_article
from openapi.importing.todo import Todo
from openapi.reading.compare.schema_keywords import close_ends, make_schema
from openapi.schema.notation import notation

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from openapi.contract.contract import Contract
    from openapi.reading.answers.page_answers import PageAnswers, PrintedAnswer
    from openapi.reading.facts.fact import Fact
    from openapi.schema.json_schema import Schema

OTHERS_FORM: Final = ("errors.envelope-known", "errors.param-is-the-parameter")
"""Requirements about the forms of other vendors' errors, which do not hold for a form of the page's own."""
CODE: Final = "code"
"""The path of the fact about a table of error codes, wherever an error has them."""
_MESSAGE: Final = re.compile(
    r"(?:err(?:or)?_?)?(?:message|msg|text|description)|details?|reason|title|error|fault", re.IGNORECASE
)
_PHRASE: Final = re.compile(r"(?:error_?)?(?:type|kind|category|name|status|slug)", re.IGNORECASE)
_PARAM: Final = re.compile(r"param(?:eter)?|field|path|property", re.IGNORECASE)
_CODE: Final = re.compile(r"(?:error_?|status_?|http_?)*(?:code|status)", re.IGNORECASE)
_CONDITION: Final = re.compile(r"\b(?:optional|may|if|when|only|sometimes|present|null)\b|可选|可能|仅", re.IGNORECASE)


def read_page_errors(facts: Sequence[Fact], answers: PageAnswers, contract: Contract) -> AnswerChanges:
    """Return the changes of the part `errors`; facts: those of tables about the fields of an error."""
    found = AnswerChanges()
    _read_statuses(answers, contract, found)
    facts = [fact for fact in map(close_ends, facts) if fact.supported]
    printed = [one for one in answers.of("errors") if not one.is_cut]
    _report_cut(answers, found)
    codes = [fact for fact in facts if fact.path == CODE and fact.enum]
    facts = [fact for fact in facts if fact not in codes]
    if not facts and not printed:
        found.todos += [_unplaced(fact) for fact in codes]
        return found
    values = [one.value for one in printed]
    schema = make_value_schema(values) if values else {"type": "object", "required": [], "properties": {}}
    for fact in facts:
        if not _add_fact(schema, fact, is_printed=bool(values)):
            found.todos.append(Todo(f"errors.{fact.path}", f"line {fact.line}", "its place in the body is not clear"))
    found.todos += [_unplaced(fact) for fact in codes if not _add_codes(schema, fact, values)]
    template = _Template(printed)
    body = template.write(values[0] if values else _sample(schema), schema)
    _cite(schema, "#errors")
    found.set("errors/schema", schema)
    found.set("errors/body", body)
    for name, kind in contract.errors.kinds.items():
        for key, value in template.fill(
            found.changes.get(f"errors/kinds/{name}/status", kind.status), kind.phrase
        ).items():
            found.set(f"errors/kinds/{name}/{key}", value)
    is_binding = bool(facts) or any(one.status is None and not one.is_example for one in printed)
    _state_form(schema, found, is_binding=is_binding)
    has_param = any(_PARAM.fullmatch(path.rpartition("/")[2]) for path, _ in _leaves(schema))
    found.removed += [f"requirements/{name}" for name in OTHERS_FORM[: 1 if has_param else 2]]
    return found


def _add_codes(schema: Schema, fact: Fact, values: Sequence[Any]) -> bool:
    """Let the field that has the codes of a table list them: one whose printed values are among them, or `code`."""
    for path, leaf in _leaves(schema):
        printed = [_at(value, path) for value in values]
        is_named = path.rpartition("/")[2] == CODE and not any(printed)
        if is_named or (any(printed) and all(value in (*fact.enum, None) for value in printed)):
            leaf["enum"] = list(fact.enum)
            return True
    return False


def _unplaced(fact: Fact) -> Todo:
    listed = ", ".join(map(str, fact.enum))
    text = f"the codes {listed}: which field of an error has them is not clear"
    return Todo("errors", f"line {fact.line}", text, quoted=False)


def _report_cut(answers: PageAnswers, found: AnswerChanges) -> None:
    for one in answers.of("errors"):
        if one.is_cut:
            found.todos.append(Todo("errors", f"line {one.line}", "the example leaves out a part", quoted=False))


def _read_statuses(answers: PageAnswers, contract: Contract, found: AnswerChanges) -> None:
    """Set the status of each kind of error that the page states."""
    stated = [(one.status, one.words, one.line) for one in answers.statuses]
    known = {name: kind.status for name, kind in contract.errors.kinds.items()}
    kinds, left = assign_statuses([(status, words) for status, words, _ in stated], known)
    for name, status in kinds.items():
        if status != known[name]:
            found.set(f"errors/kinds/{name}/status", status)
    lines = {status: line for status, _, line in reversed(stated)}
    for status in left:
        text = f"status {status} is that of no kind of error: nothing tests it"
        found.todos.append(Todo("errors", f"line {lines[status]}", text, quoted=False))
    statuses = sorted(set(lines))
    if statuses and kinds:
        listed = ", ".join(map(str, statuses))
        says = f"statuses of errors are {listed}" if len(statuses) > 1 else f"the status of errors is {listed}"
        found.state("errors-have-statuses", says, "#errors/status", {"check": "errors.status-as-documented"}, "SHOULD")


def _add_fact(schema: Schema, fact: Fact, *, is_printed: bool) -> bool:
    """Add a field that a table describes; return False if the object that contains it is not known."""
    *outer, name = re.split(r"\.", fact.path.replace("[]", ".[]"))
    node = schema
    for step in outer:
        inner = node.get("items") if step == "[]" else node.get("properties", {}).get(step)
        if inner is None:
            return False
        node = inner
    described = make_schema(fact)
    if fact.nullable and "type" in described:
        described = {**described, "type": [described["type"], "null"]}
    if name == "[]":
        node["items"] = {**node.get("items", {}), **described}
        return True
    fields = node.setdefault("properties", {})
    known = fields.get(name, {})
    fields[name] = {**known, **described, **({"type": _both(known, described)} if "type" in known else {})}
    is_conditional = any(map(_CONDITION.search, (*fact.unread, *fact.prose)))
    required = node.setdefault("required", [])
    if fact.required == "no" or is_conditional:
        node["required"] = [other for other in required if other != name]
    elif name not in required and (fact.required == "yes" or not is_printed):
        required.append(name)
    return True


def _both(printed: Schema, described: Schema) -> Any:
    """Return the types that a table and examples state: what a page prints is one of them."""
    types = [printed["type"]] if isinstance(printed["type"], str) else list(printed["type"])
    stated = described.get("type", types)
    stated = [stated] if isinstance(stated, str) else list(stated)
    whole = "number" in stated and "integer" in types
    merged = list(dict.fromkeys([*stated, *(name for name in types if not (whole and name == "integer"))]))
    return merged[0] if len(merged) == 1 else merged


def _sample(schema: Schema) -> Any:
    """Return a value of a schema, for a page that prints none."""
    types = schema.get("type", "string")
    kind = types if isinstance(types, str) else types[0]
    if "enum" in schema:
        return schema["enum"][0]
    if kind == "object":
        return {name: _sample(inner) for name, inner in schema.get("properties", {}).items()}
    if kind == "array":
        return [_sample(schema["items"])] if "items" in schema else []
    return {"string": "", "integer": 0, "number": 0.0, "boolean": False}.get(kind)


class _Template:
    """The body of our own server's errors: a printed one with the message, the status and the like filled in."""

    def __init__(self, printed: Sequence[PrintedAnswer]) -> None:
        self._printed = printed
        self._has_code = False
        self._phrases: dict[int | None, str] = {}
        self._has_phrase = False

    def write(self, value: Any, schema: Schema) -> Any:
        """Return the template for the first printed body."""
        leaves = [path for path, inner in _leaves(schema) if "string" in _types(inner) and "enum" not in inner]
        message = next((path for path in leaves if path.endswith("message")), None) or next(
            (path for path in leaves if _MESSAGE.fullmatch(path.rpartition("/")[2])), next(iter(leaves), None)
        )
        return self._write(value, schema, "", message)

    def _write(self, value: Any, schema: Schema, at: str, message: str | None) -> Any:
        name = at.rpartition("/")[2]
        if isinstance(value, dict):
            fields = schema.get("properties", {})
            return {key: self._write(item, fields.get(key, {}), f"{at}/{key}", message) for key, item in value.items()}
        if isinstance(value, list):
            return [self._write(item, schema.get("items", {}), f"{at}/[]", message) for item in value[:1]]
        if at == message:
            return "{message}"
        if "enum" in schema:
            return value
        if _PARAM.fullmatch(name) and {"string"} >= _types(schema) - {"null"}:
            schema["type"] = ["string", "null"]
            return "{param}"
        if (
            isinstance(value, int)
            and not isinstance(value, bool)
            and _CODE.fullmatch(name)
            and self._is_status(at, value)
        ):
            self._has_code = True
            return "{code}"
        if isinstance(value, str) and _PHRASE.fullmatch(name):
            self._has_phrase = True
            self._phrases = {one.status: str(_at(one.value, at)) for one in self._printed if _at(one.value, at)}
            return "{phrase}"
        return value

    def _is_status(self, at: str, value: int) -> bool:
        printed = [(_at(one.value, at), one.status) for one in self._printed]
        return 400 <= value < 600 or (not printed and value == 0) or any(code == status for code, status in printed)

    def fill(self, status: int, phrase: str | None) -> Mapping[str, Any]:
        """Return the code and the phrase of a kind of error with a status, as far as the template needs them."""
        printed = self._phrases.get(status) or phrase or next(iter(self._phrases.values()), "error")
        return {**({"code": status} if self._has_code else {}), **({"phrase": printed} if self._has_phrase else {})}


def _at(value: Any, path: str) -> Any:
    for step in path.split("/")[1:]:
        if step == "[]":
            value = value[0] if isinstance(value, list) and value else None
        else:
            value = value.get(step) if isinstance(value, dict) else None
    return value


def _types(schema: Schema) -> set[str]:
    types = schema.get("type", [])
    return {types} if isinstance(types, str) else set(types)


def _leaves(schema: Schema, at: str = "") -> Iterator[tuple[str, Schema]]:
    """Yield the innermost schemas with their paths, such as `/error/message`."""
    inner = [(f"{at}/{name}", field) for name, field in schema.get("properties", {}).items()]
    inner += [(f"{at}/[]", schema["items"])] if isinstance(schema.get("items"), dict) else []
    if not inner and at:
        yield at, schema
    for path, field in inner:
        yield from _leaves(field, path)


def _cite(schema: Schema, source: str) -> None:
    schema["x-source"] = source
    for name, field in schema.get("properties", {}).items():
        _cite(field, f"{source}/{name}")
    if isinstance(schema.get("items"), dict):
        _cite(schema["items"], source)


def _state_form(schema: Schema, found: AnswerChanges, *, is_binding: bool) -> None:
    """Add sentences about the form; one that is only an example, or about one status, is a SHOULD."""
    level = "MUST" if is_binding else "SHOULD"
    if not is_binding:
        found.set("requirements/errors.envelope-fits/keyword", level)
    leaves = list(_leaves(schema))
    names = ", ".join(path[1:].replace("/[]", "[]").replace("/", ".") for path, _ in leaves)
    home = {"check": ["errors.body-is-json-object", "errors.envelope-fits"]}
    found.state(
        "errors-have-form",
        f"the body of an error is an object{f' with {names}' if names else ''}",
        "#errors",
        home,
        level,
    )
    for path, inner in leaves:
        steps = [step for step in path.split("/")[1:] if step != "[]"]
        place = f"errors/schema{re.sub(r'/(?!/)([^/]+)', _place_step, path)}"
        kept = [key for key in ("type", "enum") if key in inner]
        if kept:
            values = notation({key: inner[key] for key in kept}, {})
            says = f"{'.'.join(steps)} of an error is {find_article(values)}{values}"
            homes = [f"{place}/{key}" for key in kept]
            source = "#errors/" + "/".join(steps)
            identity = "errors-" + "-".join(steps)
            found.state(identity, says, source, {"schema": homes[0] if len(homes) == 1 else homes}, level)


def _place_step(match: re.Match[str]) -> str:
    return "/items" if match[1] == "[]" else f"/properties/{match[1]}"
