"""Read pages whose parameters are lines of their own, as they remain if the text of a page without tables is copied.

Such a line is a known name, alone or with its type: `temperature`, `top_p: number`, `model*string`. Below it, or above
it, its type, whether it is required, its default and its description have lines of their own.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from bs4 import BeautifulSoup

from openapi.reading.grammar.type_cells import is_type_cell
from openapi.reading.grammar.vocabulary import normalize
from openapi.reading.pages.entries.parameter_headings import make_section_row
from openapi.reading.pages.entries.signature import says_type, split_words
from openapi.reading.pages.nesting import load_outline
from openapi.reading.pages.row import Item, separate

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from openapi.reading.pages.row import Rows, TableRow

FORM: Final = "a line for each parameter"
MIN_NAMES: Final = 4
MAX_NAME: Final = 80
"""Characters of a line that may be a name with its type."""
_NAME: Final = re.compile(r"[*_`§•#\s]*(?P<name>[a-z]\w*)(?:\s*\*\*|__|`)*(?P<mark>[?*]?)\s*:?\s*(?P<rest>[^.。]*)")
_ANSWER: Final = re.compile(
    r"\W*(?:returns?|responses?|response (?:body|fields|schema|object)|the .{0,30} object"
    r"|返回(?:参数|值)?|响应(?:参数)?)\W*",
    re.IGNORECASE,
)
"""A line that ends the parameters of the request."""
_LABEL: Final = re.compile(r"(?:defaults?(?: value)?|range|type|默认值?|取值范围|范围|类型)\s*:?", re.IGNORECASE)
"""A line whose next line is its value."""
_VALID: Final = re.compile(r"(?:valid range|value in|allowed values)\s*:?\s*(?=\S)", re.IGNORECASE)
_FENCE: Final = re.compile(r"\s*(?:`{3,}|~{3,})")
_REQUIRED: Final = {"*": "required", "?": "optional"}


def read(text: str) -> Rows | None:
    """Read all rows of a page in this form; None if it does not name enough parameters."""
    lines = [_plain(line) for line in _without_code(text.split("\n"))]
    starts = list(_find_starts(lines))
    if len({name for _, name, _ in starts}) < MIN_NAMES:
        return None
    rows: dict[str, TableRow] = {}
    last = next((at for at, line in enumerate(lines) if at > starts[0][0] and _ANSWER.fullmatch(line)), len(lines))
    ends = [*(at - (_type_above(lines, at) != []) for at, _, _ in starts[1:]), len(lines)]
    for (at, name, words), end in zip(starts, ends, strict=True):
        if at < last and name not in rows:
            items = list(_items(lines, at + 1, min(end, last), name))
            rows[name] = make_section_row("request", (name,), at + 1, [*_type_above(lines, at), *words], items)
    return separate(FORM, list(rows.values()))


def _without_code(lines: Sequence[str]) -> Iterator[str]:
    """Yield the lines, those of blocks of code and of objects of JSON as empty ones."""
    depth, is_fenced = 0, False
    for line in lines:
        is_fenced ^= bool(_FENCE.match(line))
        depth += line.count("{") - line.count("}")
        yield "" if is_fenced or depth > 0 or line.strip() == "}" else line


def _plain(line: str) -> str:
    """Return a line without tags."""
    return " ".join(BeautifulSoup(line, "html.parser").get_text(" ").split()) if "<" in line and ">" in line else line


def _find_starts(lines: Sequence[str]) -> Iterator[tuple[int, str, list[str]]]:
    """Yield the number, the name and the words next to it of each line that is a name."""
    known = load_outline("request")
    current = ""
    for at, line in enumerate(lines):
        match = _NAME.fullmatch(normalize(line.strip(), keep_marks=True)) if 0 < len(line) < MAX_NAME else None
        if match is None:
            continue
        is_known = (match["name"],) in known
        words = split_words(match["rest"])
        if match["rest"].strip() and not words:
            continue
        words += [_REQUIRED[match["mark"]]] if match["mark"] and (words or match["mark"] == "*") else []
        is_repeated = match["name"] == current and not words  # a title that repeats the name
        is_typed = all(says_type(word) or is_type_cell(word) for word in words)
        is_known = is_known or (is_typed and "_" in match["name"] and (bool(words) or _is_type(lines[at + 1 : at + 3])))
        if is_typed and is_known and not is_repeated:
            current = match["name"]
            yield at, current, words


def _is_type(below: Sequence[str]) -> bool:
    """Return whether the first of some lines that is not empty is a type."""
    return is_type_cell(next((line for line in below if line.strip()), ""))


def _type_above(lines: Sequence[str], at: int) -> list[str]:
    """Return the type of a name in the line above it, behind an empty line."""
    above = lines[at - 1].strip() if at > 1 and not lines[at - 2].strip() else ""
    return [above] if above and is_type_cell(above) else []


def _items(lines: Sequence[str], start: int, end: int, name: str) -> Iterator[Item]:
    """Yield each line as an item; one that is only a label is joined with the next one."""
    label = ""
    for at in range(start, end):
        line = lines[at].strip()
        if not line or line == name:
            continue
        if not label and _LABEL.fullmatch(line):
            label = f"{line.rstrip(':： ')}: "
            continue
        yield Item(_VALID.sub(lambda match: _label(match[0]), f"{label}{line}"), 0, at + 1)
        label = ""


def _label(words: str) -> str:
    return "Range: " if "range" in words.lower() else "One of: "
