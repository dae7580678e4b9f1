"""Rules for types: one type word or several, and the only values that are supported."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from openapi.reading.grammar.rule import Preceding, rule
from openapi.reading.grammar.statement import UNSTATED, Statement
from openapi.reading.grammar.vocabulary import NAME, NUMBER, QUOTED, TYPE, Type, parse_literal, parse_type

if TYPE_CHECKING:
    from collections.abc import Iterable

_WORD: Final = rf"{TYPE}(?:\s*(?:types?|format|类型|格式))?"
_OR: Final = r"(?:\s+or\s+(?:the\s+|an?\s+)?|\s*/\s*|\s*\|\s*|或者|或)"
_LEAD: Final = r"(?:(?:the )?(?:value|type|parameter) is (?:of )?(?:(?:the|an?) )?|类型[为是]|(?:the|an?) )?"
_LIST: Final = rf"{_WORD}(?:{_OR}{_WORD})*"
_UNION: Final = re.compile(r"(union|optional)\[.*\]", re.IGNORECASE)
_LITERAL: Final = re.compile(r"literal\[(.*)\]", re.IGNORECASE)
UNDEFINED: Final = "undefined"
"""The value of a field that an object of JavaScript does not have: JSON has none."""
_SUFFIX: Final = re.compile(r"\s*(?:types?|format|类型|格式)$", re.IGNORECASE)


def parse_types(words: str) -> list[Type] | None:
    """Parse type words such as `List[string]类型或者string类型`; None if one of the words is not a type.

    The values of a `Literal["auto", "none"]` must not stand next to other types.
    """
    words = words.strip()
    if union := _UNION.fullmatch(words):
        parts = _split_outside(words[len(union[1]) + 1 : -1], r"\s*,\s*")
        parts += ["null"] if union[1].lower() == "optional" else []
    else:
        parts = _split_outside(words, _OR)
    found: list[Type] = []
    for part in parts:
        inner = parse_types(part) if _UNION.fullmatch(part) and part != words else [_parse_one(part)]
        if inner is None or None in inner:
            return None
        found += [one for one in inner if one is not None and one.name != UNDEFINED]
    listed = {bool(one.values) for one in found if one.name != "null"}
    return found if found and len(listed) < 2 else None


def _parse_one(word: str) -> Type | None:
    if literal := _LITERAL.fullmatch(word):
        values = tuple(map(parse_literal, _split_outside(literal[1].replace("'", '"'), r"\s*,\s*")))
        return Type("string", values=values) if all(isinstance(value, str) for value in values) else None
    return Type(UNDEFINED) if word.lower() == UNDEFINED else parse_type(_SUFFIX.sub("", word))


def _split_outside(words: str, separator: str) -> list[str]:
    """Split words at a separator, but not inside of brackets."""
    parts, start = [], 0
    for match in re.finditer(separator, words, re.IGNORECASE):
        before = words[: match.start()]
        if not sum(before.count(opening) - before.count(closing) for opening, closing in ("[]", "()", "<>")):
            parts.append(words[start : match.start()])
            start = match.end()
    return [*parts, words[start:]]


def type_statements(types: Iterable[Type], attribute: str = "types") -> list[Statement]:
    """Convert types to statements about names, formats, null, and the types of elements."""
    parsed = list(types)
    statements = [Statement(attribute, tuple(sorted({kind.name for kind in parsed} - {"null"})))]
    statements += [Statement("format", kind.format) for kind in parsed if kind.format]
    statements += [Statement("nullable", True) for kind in parsed if kind.name == "null"]
    values = tuple(value for kind in parsed for value in kind.values)
    statements += [Statement("enum", values)] if values else []
    for element in (kind.element for kind in parsed if kind.element):
        statements += [Statement("types", (element.name,), at="[]")]
        statements += [Statement("format", element.format, at="[]")] if element.format else []
    return [statement for statement in statements if statement.value != ()]


def _types(match: re.Match[str], _name: str) -> list[Statement] | None:
    types = parse_types(match["types"])
    if types is None:
        return None
    return type_statements(types) + ([Statement("nullable", True)] if match["null"] else [])


def _by_model(match: re.Match[str], _name: str) -> list[Statement] | None:
    models = [parse_types(words) for words in match.groups() if words]
    return None if None in models else [item for types in models for item in type_statements(types or [], "also")]


def _text(_match: re.Match[str], _name: str) -> list[Statement]:
    return [Statement("types", ("string",))]


def _only(match: re.Match[str], _name: str) -> list[Statement]:
    value = _value(match["value"])
    return [Statement("enum", (value,)), *([Statement("types", ("string",))] if isinstance(value, str) else [])]


def _value(text: str) -> Any:
    value = parse_literal(text.strip())
    return text if value is UNSTATED else value


def _values(match: re.Match[str], _name: str) -> list[Statement]:
    words = match["values"] or match.groupdict().get("listed") or ""
    return [Statement("enum", tuple(quoted[1:-1] for quoted in re.findall(QUOTED, words)))]


def _listed(match: re.Match[str], _name: str) -> list[Statement] | None:
    """Read values without quotes, separated by commas, bars or words; the announcement says that these are all."""
    words = re.sub(r"^\[(.*)\]$", r"\1", match["tokens"].strip())
    parts = re.split(r"\s*(?:,|;|\||、|/|\bor\b|\band\b|或者?|和)\s*", words)
    values = [_value(part.strip().strip("'")) for part in parts if part.strip()]
    if len(values) < 2 and "enum" not in match[0].lower():
        return None
    kinds = {type(value) for value in values}
    if None in values:
        values.remove(None)
        return [Statement("enum", tuple(values)), Statement("nullable", True)]
    if kinds == {bool}:
        return [Statement("types", ("boolean",))]
    return [Statement("enum", tuple(dict.fromkeys(values)))]


def _unary(match: re.Match[str], _name: str) -> list[Statement]:
    return [Statement("enum", (match[1],)), Statement("unread", match[2])]


def _reasons(match: re.Match[str], _name: str) -> list[Statement]:
    return [Statement("enum", (match[1], match[2])), Statement("nullable", True)]


_TOKEN: Final = rf"(?:{QUOTED}|'[^']*'|{NUMBER}|[A-Za-z_][\w.:-]*)"
_BETWEEN: Final = r"\s*(?:,\s*(?:or\b|and\b)?|;|\||、|/|\bor\b|\band\b|或者?|和)\s*"
_TOKENS: Final = rf"(?P<tokens>\[?{_TOKEN}(?:{_BETWEEN}{_TOKEN})*\]?)"
_ANNOUNCED: Final = (
    r"(?:(?:the )?(?:possible|supported|available|allowed|accepted|valid|permitted) (?:values?|options|choices)"
    r"(?: are| is| include)?|options|choices|enum(?:eration)?(?: values)?|可选值|可取值|枚举值?"
    r"|取值(?:范围(?!\s*[:为是]?\s*[\[(])|包括)?"
    r"|支持的?取?值|支持(?=\s*[:=]))"
    r"(?:\s*[:=为是])?\s*"
)
_CHOSEN: Final = (
    r"(?:(?:the value )?(?:must|should|can|may)(?: only)? be |is |currently )?(?:one of|either)(?: the values?)?:? "
)
_ONE: Final = rf"(?P<value>{QUOTED}|{NAME}|{NUMBER})"

_WORDS_OF_INTERFACE: Final = (
    r"function|custom|text|json_object|json_schema|auto|none|system|user|assistant|tool|developer|image_url|stop|length"
    r"|tool_calls|content_filter|list"
)
"""Words that are values and no adjectives, so that `must be function` states one without quotes."""
_FIXED: Final = rf"(?:{QUOTED}|{NUMBER}|(?:{_WORDS_OF_INTERFACE})\b|(?=[\w.-]*[\d._])[A-Za-z][\w.-]*\w)"
_SUBJECT: Final = r"(?:(?:it|this|the (?:value|field|type|string)) )?"
_ALWAYS: Final = (
    rf"{_SUBJECT}(?:is |will )?(?:currently )?always (?:(?:be|is|returns|equals|set to|the (?:string|value|word)) )*"
)
_MUST_BE: Final = (
    rf"{_SUBJECT}(?:must|has to|have to|can only|may only) (?:always |only )?be (?:set to )?"
    r"(?:the (?:string|value|word) )?"
)

_VALUES: Final = re.compile(rf"{_TOKEN}(?:{_BETWEEN}{_TOKEN})+")


def is_value_list(words: str) -> bool:
    """Return whether words are only values, separated by commas, bars or words, such as `text, json or xml`."""
    return _VALUES.fullmatch(words) is not None


RULES: Final = (
    rule(rf"{_LEAD}(?P<types>{_LIST})(?:参数)?(?P<null> and can be null)?", _types),
    rule(rf"(?:单模态|多模态)?(?:文本)?模型[为是](?P<types>{_LIST})", _by_model),
    rule(
        rf"the value is of the ({_LIST}) for an? [\w-]+(?: [\w-]+){{0,3}} model"
        rf" and of the ({_LIST}) for an? [\w-]+(?: [\w-]+){{0,3}} model",
        _by_model,
    ),
    rule(r"使用JSON格式的字符串|an? (?:JSON-formatted )?string(?: representing .*)?", _text),
    rule(rf"(?:目前|当前)?[仅只]支持(?:字符串)?{_ONE}", _only, Preceding.ANYTHING),
    rule(rf"only supports (?:the )?(?:(?:character )?string )?{_ONE}", _only),
    rule(rf"currently only supports (?:the )?(?:(?:character )?string )?{_ONE}", _only, Preceding.ANYTHING),
    rule(rf"(?:currently,? )?only (?:the )?(?:(?:character )?string )?{_ONE} is (?:currently )?supported", _only),
    rule(rf"(?:[\u4e00-\u9fff]{{0,8}})?(?:目前|当前)都?返回(?P<value>{QUOTED})", _only, Preceding.ANYTHING),
    rule(rf"currently (?:always )?(?:returns )?(?P<value>{QUOTED})", _only, Preceding.ANYTHING),
    rule(rf"currently hardcoded as {_ONE}", _only, Preceding.ANYTHING),
    rule(rf"(?:当前|目前)只能[为是](?P<value>{NUMBER})", _only, Preceding.ANYTHING),
    rule(
        rf"(?:which can )?(?:currently )?only (?:be )?(?P<value>{NUMBER})(?: is (?:allowed|supported))?(?: currently)?",
        _only,
        Preceding.ANYTHING,
    ),
    rule(rf"(?:可?取值|可选值)(?:可以?)?[为是:]?(?P<values>{QUOTED}(?:(?:、|,|或者?|和){QUOTED})+)", _values),
    rule(
        rf"(?:must be |can be |is )?(?:one of|either) (?P<values>{QUOTED}(?:, {QUOTED})*,? or {QUOTED})"
        rf"|(?:possible|supported|available) values(?: are)?:? (?P<listed>{QUOTED}(?:, {QUOTED})*,? and {QUOTED})",
        _values,
    ),
    rule(rf"[仅只可]?支持(?P<values>{QUOTED}(?:(?:、|,|或者?|和){QUOTED})+)", _values, Preceding.READ),
    rule(rf"(?:固定(?:返回|取?值为?|为)|always (?:returns )?)(?P<value>{QUOTED})", _only, Preceding.ANYTHING),
    rule(rf"固定(?:为|是|返回)\s*(?P<value>{_FIXED})", _only, Preceding.READ),
    rule(rf"{_MUST_BE}(?:of (?:the )?type )?(?:an? )?(?P<types>{_LIST})(?P<null> or null)?", _types, Preceding.READ),
    rule(rf"(?:{_ALWAYS}|{_MUST_BE})(?P<value>{_FIXED})", _only, Preceding.READ),
    rule(rf"{_MUST_BE}(?:either )?(?P<tokens>{_FIXED}(?:{_BETWEEN}{_FIXED})+)", _listed, Preceding.READ),
    rule(rf"(?:{_ANNOUNCED}|{_CHOSEN}){_TOKENS}", _listed, Preceding.READ),
    rule(r"([\w.]+) for unary requests( and [\w.]+ for streaming responses)", _unary),
    rule(rf"this will be ({NAME}) if .*?, ({NAME}) if .*?, or null when .*", _reasons),
)
