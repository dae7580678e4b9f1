"""The vocabulary of cells in English and Chinese: types, literals, units and comparisons."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Final

from openapi.reading.grammar.interval import Interval, Number, Range, parse_number
from openapi.reading.grammar.statement import UNSTATED

NUMBER: Final = r"[-+]?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?"
QUOTED: Final = r'"[^"]*"'
NAME: Final = r"[A-Za-z_]\w*"

# Each character is replaced with one ASCII character, so that offsets are the same in the original text.
_NORMALIZED: Final = str.maketrans(
    {
        **dict(zip("，：；（）［］｛｝＜＞＝～－＋．％", ",:;()[]{}<>=~-+.%", strict=True)),
        **dict.fromkeys("“”„‟＂", '"'),
        **dict.fromkeys("‘’‛", "'"),
        **dict.fromkeys("`\u00a0\u3000\t\n\r", " "),
        **dict.fromkeys("−‐‑‒–—", "-"),
    }
)
_WITH_MARKS: Final = {key: value for key, value in _NORMALIZED.items() if key != ord("`")}

_TYPES: Final = {
    "string": ("string", "character string", "str", "字符串"),
    "boolean": ("boolean", "bool", "logical", "布尔", "布尔型", "布尔值", "布尔类型"),
    "integer": ("integer", "int", "整型", "整数"),
    "number": ("float", "number", "double", "decimal", "浮点", "浮点型", "浮点数", "数字", "数值"),
    "array": ("list", "array", "列表", "数组"),
    "object": ("dict", "dictionary", "object", "map", "json schema", "json object", "json", "字典", "对象"),
    "null": ("null", "none", "nil"),
}
_BY_WORD: Final = {word: name for name, words in _TYPES.items() for word in words}
_SIZED: Final = re.compile(r"(u?int)_?(8|16|32|64)(?:_t)?|[iu](?:8|16|32|64|128|size)|(?P<float>float|f)_?(?:16|32|64)")
_LIST: Final = re.compile(
    r"(?:list|array)\s*[\[<(]\s*(?P<inside>.+)\s*[\])>]|(?:list|array) of (?P<plural>\w[\w ]*?)s?"
    r"|(?P<suffixed>.+)\[\]|(?P<listed>(?!json)\w+) (?:list|array)",
    re.IGNORECASE,
)
_QUALIFIED: Final = re.compile(  # integer($int32), number <float>, enum<string>, dict[str, int]
    r"(?P<type>\w+)\s*[(<]\s*\$?(?P<format>u?int(?:8|16|32|64)|float|double)\s*[)>]"
    r"|enum\s*[<(\[]\s*(?P<of>\w+)\s*[>)\]]|(?P<mapping>dict|map|record|object)\s*[\[<].*[\]>]",
    re.IGNORECASE,
)

ABSENT: Final = (
    r"(?:omitted|left (?:out|off|away)|absent|unset|missing|unspecified"
    r"|not (?:set|sent|given|passed|provided|specified|present|supplied))"
)
"""Words for a parameter that a request does not have."""

TYPE: Final = (
    r"(?:(?:[Ll]ist|[Aa]rray)(?:[\[<]\s*\w+\s*[\]>]| of \w+)|JSON (?:schema|object)|[Cc]haracter string|[a-z]+\[\]"
    r"|字符串|布尔型?|整型|整数|浮点型?|浮点数|数字|数值|列表|数组|字典|对象|[A-Za-z]+_?\d*(?:_t)?)"
)

_UNITS: Final = {"B": 1, "KB": 2**10, "MB": 2**20, "GB": 2**30}
SIZE: Final = rf"{NUMBER}\s*(?:[KMG]?B)"
_SIZE: Final = re.compile(rf"({NUMBER})\s*([KMG]?B)")

# The bound that a comparison sets, and "open" if the bound itself is excluded
_COMPARISONS: Final = {
    (
        *(">=", "≥", "大于或等于", "大于等于", "不小于", "greater than or equal to", "not less than", "at least"),
        *("no less than", "no fewer than", "min", "min.", "minimum", "minimum of", "minimum value", "最小值"),
        *("minimum value of", "minimum number of"),
        *("至少", "最少", "不少于", "不低于"),
    ): "low",
    (">", "大于", "greater than", "more than", "above", "larger than"): "low open",
    (
        "<=",
        "≤",
        "小于或等于",
        "小于等于",
        "不大于",
        "不超过",
        "less than or equal to",
        "at most",
        "no more than",
        "not more than",
        "up to",
        "cannot exceed",
        "must not exceed",
        "may not exceed",
        "does not exceed",
        "not exceeding",
        "no longer than",
        "limited to",
        "capped at",
        "max",
        "max of",
        "max.",
        "maximum",
        "maximum of",
        "maximum value",
        "maximum value of",
        "maximum number of",
        "最大值",
        "最大",
        "最多",
        "至多",
        "不多于",
        "不得超过",
        "不能超过",
    ): "high",
    ("<", "小于", "less than", "fewer than", "shorter than", "below", "smaller than"): "high open",
}
_BY_COMPARISON: Final = {word: end for words, end in _COMPARISONS.items() for word in words}
COMPARISON: Final = (
    "(?:"
    + "|".join(re.escape(word).replace("\\ ", " ") for word in sorted(_BY_COMPARISON, key=len, reverse=True))
    + ")"
)

_INFINITE: Final = r"\+?(?:∞|inf(?:inity)?)"
SET: Final = rf"(?:[\[(]\s*{NUMBER}\s*,\s*{NUMBER}\s*[\])]|[\[(]\s*{NUMBER}\s*,\s*{_INFINITE}\s*[\])])"
_SET: Final = re.compile(rf"([\[(])\s*({NUMBER})\s*,\s*(?:({NUMBER})|{_INFINITE})\s*([\])])", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Type:
    """A type that a word names; `element` is the type of the elements of a list, `values` are its only ones."""

    name: str
    format: str | None = None
    element: Type | None = None
    values: tuple[Any, ...] = ()


def normalize(text: str, *, keep_marks: bool = False) -> str:
    """Replace full-width and typographic characters with ASCII, one for one.

    keep_marks: whether the marks of code stay; otherwise, they become spaces.
    """
    return text.translate(_WITH_MARKS if keep_marks else _NORMALIZED)


def parse_type(word: str) -> Type | None:
    """Parse a type such as `uint64_t`, `List[string]`, `string[]`, `integer($int32)` or `字符串`; None for others."""
    word = word.strip().lower()
    if inside := _LIST.fullmatch(word):
        element = parse_type(inside["inside"] or inside["plural"] or inside["suffixed"] or inside["listed"])
        return element and Type("array", element=element)
    if qualified := _QUALIFIED.fullmatch(word):
        if qualified["format"] is None:
            return Type("object") if qualified["mapping"] else parse_type(qualified["of"])
        plain, form = parse_type(qualified["type"]), parse_type(qualified["format"])
        return Type(plain.name, form.format if form else None) if plain else None
    if sized := _SIZED.fullmatch(word):
        return Type("number") if sized["float"] else Type("integer", f"{sized[1]}{sized[2]}" if sized[1] else None)
    name = _BY_WORD.get(word)
    return Type(name) if name else None


def parse_literal(text: str) -> Any:
    """Parse a literal such as `null`, `true`, `0.0` or `"auto"`; UNSTATED if it is not a literal."""
    text = text.strip()
    if text in ("null", "true", "false"):
        return json.loads(text)
    if re.fullmatch(NUMBER, text):
        value = parse_number(text)
        return float(value) if isinstance(value, Decimal) else value
    return text[1:-1] if re.fullmatch(QUOTED, text) else UNSTATED


def parse_size(text: str) -> int | None:
    """Parse a size such as `4 MB`, in bytes or characters. 1 MB is 2^20, as the `32*1024` of the pages suggests."""
    match = _SIZE.fullmatch(text.strip())
    if match is None:
        return None
    value = parse_number(match[1]) * _UNITS[match[2]]
    return int(value) if value == int(value) else None


def parse_interval(text: str) -> Interval | None:
    """Parse `(0.0, 2.0]` or a single number; None if it is neither, or if the lower bound is above the upper one."""
    text = text.strip()
    if re.fullmatch(NUMBER, text):
        return Interval(parse_number(text), parse_number(text))
    match = _SET.fullmatch(text)
    if match is None:
        return None
    if match[3] is None:
        return Interval(parse_number(match[2]), low_open=match[1] == "(")
    low, high = parse_number(match[2]), parse_number(match[3])
    opened = (match[1] == "(", match[4] == ")")
    return Interval(low, high, *opened) if low < high or (low == high and not any(opened)) else None


def comparison_interval(comparison: str, bound: Number) -> Interval:
    """Return the interval of the values for which a comparison with the bound is true."""
    end = _BY_COMPARISON[comparison]
    opened = end.endswith("open")
    return Interval(low=bound, low_open=opened) if end.startswith("low") else Interval(high=bound, high_open=opened)


def parse_union(text: str) -> Range | None:
    """Parse intervals that are joined by a word for "or": `-1或(0, 2147483647]`, `-1 or (0, 5]`."""
    intervals = [parse_interval(part) for part in re.split(r"\s*(?:或者|或|\bor\b)\s*", text.strip())]
    return None if None in intervals else tuple(interval for interval in intervals if interval is not None)
