"""Rules for defaults, null, optional parameters, and the fields of objects."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from openapi.reading.grammar.interval import Interval
from openapi.reading.grammar.rule import Preceding, rule
from openapi.reading.grammar.statement import DescribedDefault, Statement
from openapi.reading.grammar.types import parse_types, type_statements
from openapi.reading.grammar.vocabulary import ABSENT, NAME, NUMBER, QUOTED, TYPE, parse_literal

if TYPE_CHECKING:
    import re
    from collections.abc import Iterator

    from openapi.reading.grammar.rule import Build

LITERAL: Final = rf"(?:{QUOTED}|{NUMBER}|true\b|false\b|null\b)"
_LITERALS_OF_PYTHON: Final = frozenset({"None", "True", "False"})  # None: is it null, or no default?
_WORD: Final = r"[A-Za-z_][\w.:/-]*"
_ONE_STATEMENT: Final = (  # no further clause that states something else
    r"(?![^.]*[,;]\s*(?:can|may|must|should|cannot|null|range|between|from|min|max|at|up|one|only|required|optional)\b)"
)
_WHEN_ABSENT: Final = (
    rf"(?:(?:when|if|where) (?:(?:it|this|the (?:field|parameter|value|key))(?:'s| is)? )?{ABSENT}"
    r"|(?:when|if) you (?:leave it (?:out|off|away)|omit it|do not (?:set|send|give|pass) it))"
)
_NOT_SET: Final = r"(?:not (?:set|passed|provided|specified))"
_PYTHON: Final = frozenset({"none", "true", "false", "null"})  # resemble a literal, but are not names


def _default(match: re.Match[str], _name: str) -> list[Statement]:
    return [Statement("default", parse_literal(match["value"].lower() if match["value"][0] != '"' else match["value"]))]


def _default_by_name(match: re.Match[str], _name: str) -> list[Statement] | None:
    word = match["value"]
    return None if word.lower() in _PYTHON else [Statement("default", DescribedDefault(word))]


def _default_word(match: re.Match[str], _name: str) -> list[Statement] | None:
    """Read a default that is one word: the value itself if the parameter has it, else a description."""
    word = match["value"]
    return None if word in _LITERALS_OF_PYTHON else [Statement("default", DescribedDefault(word))]


def _default_in_words(match: re.Match[str], _name: str) -> list[Statement] | None:
    words = match["words"].strip().strip('"')
    return (
        None if words in _LITERALS_OF_PYTHON or words[:1].isdigit() else [Statement("default", DescribedDefault(words))]
    )


def _in_words(words: str) -> Build:
    return lambda _match, _name: [Statement("default", DescribedDefault(words))]


def _of_stream(match: re.Match[str], _name: str) -> list[Statement]:
    return [Statement("default", DescribedDefault(f"{match[1]} for a non-streamed response, {match[2]} for a stream"))]


def _null(allowed: bool, at: str = "") -> Build:
    return lambda _match, _name: [Statement("nullable", allowed, at=at)]


def _omitted(match: re.Match[str], name: str) -> list[Statement] | None:
    if match["self"] != name:
        return None
    required = [Statement("required", f"unless role={match['role']} and {match['other']}")]
    return required + ([Statement("length", (Interval(1),))] if "非空" in match[0].rpartition(",")[2] else [])


def _fields_of_elements(match: re.Match[str], _name: str) -> list[Statement] | None:
    types = parse_types(match["type"])
    if types is None:
        return None
    names = (match["one"], match["other"])
    return [
        Statement(statement.attribute, statement.value, at=f"[].{name}{statement.at}")
        for name in names
        for statement in (*type_statements(types), Statement("required", "yes"))
    ]


def _counted_fields(match: re.Match[str], _name: str) -> list[Statement] | None:
    types = parse_types(match["type"])
    names = (*match["names"].replace(",", " ").split(), match["last"])
    counted = {"two": 2, "three": 3, "four": 4, "five": 5}.get(match["count"].lower())
    if types is None or len(names) != counted:
        return None
    return [
        Statement(statement.attribute, statement.value, at=f".{name}{statement.at}")
        for name in names
        for statement in type_statements(types)
    ]


def _fields_of_properties(match: re.Match[str], _name: str) -> list[Statement]:
    return [Statement("exists", True, at=f".*.{match[name]}") for name in ("one", "other")]


def _form(match: re.Match[str], _name: str) -> list[Statement] | None:
    """Read an object that is shown as an example: its fields, and the value of `type`, which is the discriminator."""
    try:
        example = json.loads(match["form"])
    except json.JSONDecodeError:
        return None
    return list(_example_statements(example, "")) if isinstance(example, dict) else None


def _example_statements(value: Any, at: str) -> Iterator[Statement]:
    if isinstance(value, dict):
        if at:
            yield Statement("types", ("object",), at=at)
        for name, item in value.items():
            yield from _example_statements(item, f"{at}.{name}")
    elif isinstance(value, str):
        yield Statement("types", ("string",), at=at)
        if at.endswith(".type"):
            yield Statement("enum", (value,), at=at)


RULES: Final = (
    rule(rf"默认值?[为是:]?\s*(?P<value>{LITERAL})", _default),
    rule(rf"(?:the )?default(?: value)?(?: is|:| =|=)?\s*(?P<value>{LITERAL})", _default),
    rule(rf"(?:it |the value |this )?defaults? (?:to|is)(?: the value)?:? (?P<value>{LITERAL})", _default),
    rule(
        rf"(?:with|and) (?:an? |the )?default(?: value)?(?: of| is|:)? (?P<value>{LITERAL})", _default, Preceding.READ
    ),
    rule(
        r"默认值?为?空|[无没]有?默认值?|默认值?[为:]?无|(?:there is )?no default(?: value)?", lambda _match, _name: []
    ),
    rule(
        rf"(?:the )?default(?: value)?(?: is|:| =|=)?\s*(?P<value>{LITERAL}),?(?P<rest> (?:where|which) .+)",
        lambda match, name: [*_default(match, name), Statement("unread", match["rest"])],
    ),
    rule(rf"(?P<value>{LITERAL}) (?:is the default(?: value)?|by default|\(default\))", _default, Preceding.READ),
    rule(
        rf"{_WHEN_ABSENT},?(?: (?:it is|it's|this is|the value is|then|the server (?:uses|takes)|uses))? "
        rf"(?P<value>{LITERAL})(?: is (?:used|assumed|taken))?",
        _default,
    ),
    rule(rf"(?:it is )?(?P<value>{LITERAL}),? (?:is (?:used|assumed|taken) )?{_WHEN_ABSENT}", _default, Preceding.READ),
    rule(rf"(?:{ABSENT}|omitting it|leaving it out) (?:means|is|counts as|equals) (?P<value>{LITERAL})", _default),
    rule(rf"(?:it )?falls back to (?P<value>{LITERAL})", _default),
    rule(rf"默认值?[为是:]?(?:[\w\s]*?配置文件中的)?(?P<value>{NAME})", _default_by_name),
    rule(rf"(?:the )?default value(?: is)?(?: the value of)? (?P<value>{NAME})", _default_by_name),
    rule(r"(?:字段|参数)?未设置时,默认值由后端模型确定", _in_words("decided by the backend model")),
    rule(
        rf"if the (?:field|parameter) is {_NOT_SET}, the default value is determined by the backend model"
        rf"|default value determined by the backend model when the field is {_NOT_SET}",
        _in_words("decided by the backend model"),
    ),
    rule(r"不传递?该参数,系统会产生一个随机\w+?值", _in_words("random")),
    rule(
        rf"if (?:this parameter is )?{_NOT_SET}, the system generates a random \w+ value",
        _in_words("random"),
    ),
    rule(
        rf"if {_NOT_SET}, the generation will stop once EOS token is generated",
        _in_words("until the end-of-sequence token"),
    ),
    rule(
        r"default: (true|false) (?:if stream=false|for a non-streamed response),"
        r" (true|false) (?:if stream=true|for a stream)",
        _of_stream,
    ),
    rule(r"default: (?P<value>all tokens)", _in_words("all tokens")),
    rule(rf"(?:defaults? to|(?:the )?default(?: value)?(?: is|:| =|=))\s*'?(?P<value>{_WORD})'?", _default_word),
    rule(rf"'?(?P<value>{_WORD})'? (?:is the default(?: value)?|by default)", _default_word, Preceding.READ),
    rule(
        rf"(?:the )?defaults?(?: value)?:? (?!(?:is |to )?{LITERAL})(?:is |to )?(?!(?:value|is|to)\b)"
        rf"{_ONE_STATEMENT}(?P<words>[^.]{{1,120}})",
        _default_in_words,
        Preceding.READ,
    ),
    rule(r"an optional [a-z ]+", lambda _match, _name: [Statement("required", "no")], Preceding.READ),
    rule(
        r"(?:(?:this|the) (?:parameter|field|value) is |it is |is )?(?P<word>required|mandatory|optional)",
        lambda match, _name: [Statement("required", "no" if match["word"].lower() == "optional" else "yes")],
        Preceding.READ,
    ),
    rule(r"(?:取值)?(?:可以?|允许)为null", _null(True)),
    rule(r"(?:取值)?(?:不能|不可以?|不允许)为null", _null(False)),
    rule(r"(?:also, )?(?:(?:the value )?can be null|null is allowed)", _null(True)),
    rule(r"(?:the value )?(?:cannot|can not|must not) be null", _null(False)),
    rule(r"(?:若该字段值非null,)?列表中元素(?:不能|不可)为null", _null(False, "[]")),
    rule(r"当role为(?P<role>\w+),且(?P<other>\w+?)非空时,(?P<self>\w+?)可以不传(?:,其余角色非空)?", _omitted),
    rule(
        r"if the role is '(?P<role>\w+)' and (?P<other>\w+) is not empty, (?P<self>\w+) can be omitted"
        r"(?:; for other roles, \w+ must be provided)?",
        _omitted,
    ),
    rule(
        rf"each object in the list should contain (?P<one>{NAME}) and (?P<other>{NAME})"
        rf" - both of (?P<type>{TYPE}) type",
        _fields_of_elements,
    ),
    rule(
        rf"(?:each|every) \w+ (?:has|contains|is an object with) (?:the |two )?(?:fields |keys |properties )?"
        rf"(?P<one>{NAME}) and (?P<other>{NAME})(?:,|:| -)?(?: which are)? both (?:of type )?(?P<type>[A-Za-z]+?)s?",
        _fields_of_elements,
        Preceding.READ,
    ),
    rule(
        rf"consists of (?P<count>\w+) (?P<type>{TYPE}) fields: (?P<names>{NAME}(?:, {NAME})*),? and (?P<last>{NAME})"
        r"(?: that .*)?",
        _counted_fields,
    ),
    rule(rf"包含(?P<one>{NAME})和(?P<other>{NAME})两个参数", _fields_of_properties, Preceding.ANYTHING),
    rule(rf"containing (?P<one>{NAME}) and (?P<other>{NAME}) fields", _fields_of_properties, Preceding.ANYTHING),
    rule(
        rf"the value is of the dict type and indicates the \w+ description,"
        rf" including the (?P<one>{NAME}) and (?P<other>{NAME}) parameters",
        _fields_of_properties,
    ),
    rule(r"通过(?P<form>\{.*\})指定特定的工具(?:,将强制模型调用该工具)?", _form),
    rule(r"by specifying (?P<form>\{.*\}) you can specify a particular tool(?:, forcing .*)?", _form),
)
