"""The words of value cells, in English and Chinese: types, literals, units, comparisons."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Final

from openapi.reading.grammar.interval import Interval, Number, Range, number
from openapi.reading.grammar.statement import UNSTATED

NUMBER: Final = r"[-+]?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?"
QUOTED: Final = r'"[^"]*"'
NAME: Final = r"[A-Za-z_]\w*"

# Every sign to one of ASCII, one for one, so that a place in the plain text is the same place in the page's own.
_PLAIN: Final = str.maketrans(
    {
        **dict(zip("，：；（）［］｛｝＜＞＝～－＋．％", ",:;()[]{}<>=~-+.%", strict=True)),
        **dict.fromkeys("“”„‟＂", '"'),
        **dict.fromkeys("‘’‛", "'"),
        **dict.fromkeys("`\u00a0\u3000\t\n\r", " "),
        **dict.fromkeys("−‐‑‒–—", "-"),
    }
)

_TYPES: Final = {
    "string": ("string", "character string", "str", "字符串"),
    "boolean": ("boolean", "bool", "布尔", "布尔型"),
    "integer": ("integer", "int", "整型", "整数"),
    "number": ("float", "number", "double", "浮点", "浮点型", "浮点数"),
    "array": ("list", "array", "列表", "数组"),
    "object": ("dict", "object", "json schema", "字典", "对象"),
    "null": ("null",),
}
_BY_WORD: Final = {word: name for name, words in _TYPES.items() for word in words}
_SIZED: Final = re.compile(r"(u?int)_?(8|16|32|64)(?:_t)?")
_LIST: Final = re.compile(r"(?:list|array)\[\s*(\w+)\s*\]|(?:list|array) of (\w+?)s?", re.IGNORECASE)

TYPE: Final = (
    r"(?:(?:[Ll]ist|[Aa]rray)(?:\[\s*\w+\s*\]| of \w+)|JSON schema|[Cc]haracter string"
    r"|字符串|布尔型?|整型|整数|浮点型?|浮点数|列表|数组|字典|对象|[A-Za-z]+_?\d*(?:_t)?)"
)

_UNITS: Final = {"B": 1, "KB": 2**10, "MB": 2**20, "GB": 2**30}
SIZE: Final = rf"{NUMBER}\s*(?:[KMG]?B)"
_SIZE: Final = re.compile(rf"({NUMBER})\s*([KMG]?B)")

# (low end, high end) that a comparison sets, and whether the end is left out
_COMPARISONS: Final = {
    (">=", "≥", "大于或等于", "大于等于", "不小于", "greater than or equal to", "not less than", "at least"): "low",
    (">", "大于", "greater than", "more than"): "low open",
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
    ): "high",
    ("<", "小于", "less than"): "high open",
}
_BY_COMPARISON: Final = {word: end for words, end in _COMPARISONS.items() for word in words}
COMPARISON: Final = (
    "(?:"
    + "|".join(re.escape(word).replace("\\ ", " ") for word in sorted(_BY_COMPARISON, key=len, reverse=True))
    + ")"
)

SET: Final = rf"[\[(]\s*{NUMBER}\s*,\s*{NUMBER}\s*[\])]"
_SET: Final = re.compile(rf"([\[(])\s*({NUMBER})\s*,\s*({NUMBER})\s*([\])])")


@dataclass(frozen=True, slots=True)
class Type:
    """What one type word says; `element` is that of a list's elements."""

    name: str
    format: str | None = None
    element: Type | None = None


def plain(text: str) -> str:
    """The text with one kind of comma, quote and space, character for character."""
    return text.translate(_PLAIN)


def type_of(word: str) -> Type | None:
    """The type that a word names: `uint64_t`, `List[string]`, `array of strings`, `字符串`. None: it names none."""
    word = word.strip().lower()
    if inside := _LIST.fullmatch(word):
        element = type_of(inside[1] or inside[2])
        return element and Type("array", element=element)
    if sized := _SIZED.fullmatch(word):
        return Type("integer", f"{sized[1]}{sized[2]}")
    name = _BY_WORD.get(word)
    return Type(name) if name else None


def literal(text: str) -> Any:
    """The value a literal shows: `null`, `true`, `0.0`, `"auto"`. UNSTATED: it is none."""
    text = text.strip()
    if text in ("null", "true", "false"):
        return json.loads(text)
    if re.fullmatch(NUMBER, text):
        found = number(text)
        return float(found) if isinstance(found, Decimal) else found
    return text[1:-1] if re.fullmatch(QUOTED, text) else UNSTATED


def size(text: str) -> int | None:
    """`4 MB` in bytes or characters, 1 MB being 1,048,576 of them, as the pages' own 32*1024 suggests."""
    found = _SIZE.fullmatch(text.strip())
    if found is None:
        return None
    value = number(found[1]) * _UNITS[found[2]]
    return int(value) if value == int(value) else None


def interval(text: str) -> Interval | None:
    """`(0.0, 2.0]`, or a single number. None: it is neither, or its ends are the wrong way round."""
    text = text.strip()
    if re.fullmatch(NUMBER, text):
        return Interval(number(text), number(text))
    found = _SET.fullmatch(text)
    if found is None:
        return None
    low, high = number(found[2]), number(found[3])
    opened = (found[1] == "(", found[4] == ")")
    return Interval(low, high, *opened) if low < high or (low == high and not any(opened)) else None


def compared(comparison: str, bound: Number) -> Interval:
    """All values that compare so with the bound."""
    end = _BY_COMPARISON[comparison]
    opened = end.endswith("open")
    return Interval(low=bound, low_open=opened) if end.startswith("low") else Interval(high=bound, high_open=opened)


def union(text: str) -> Range | None:
    """`-1或(0, 2147483647]`, `-1 or (0, 5]`: intervals joined by a word for `or`."""
    found = [interval(part) for part in re.split(r"\s*(?:或者|或|\bor\b)\s*", text.strip())]
    return None if None in found else tuple(each for each in found if each is not None)
