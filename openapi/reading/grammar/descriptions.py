"""Words that only describe a value, such as `Most tokens to generate`, so that what follows is about the value.

They are a noun phrase whose head stands for the value, or begin with a word such as `how` or `controls`. Words about
something else (a release, a status, a percentage, advice) or about some cases only may restrict what follows.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from openapi.reading.grammar.quantities.surroundings import is_restricting, names_value
from openapi.reading.grammar.vocabulary import NUMBER

if TYPE_CHECKING:
    from collections.abc import Iterator

_OPENING: Final = re.compile(
    r"(?:how|what|which|whether|controls?|sets?|determines?|specif(?:y|ies)|defines?|adjusts?|steers?|regulates?"
    r"|influences?|affects?|penali[sz]es?|scales?|caps?|bounds?|selects?|chooses?)\b",
    re.IGNORECASE,
)
_EXTREME: Final = re.compile(r"\b(?:maximum|minimum|max|min|upper|lower|hard|limit)\b\.?", re.IGNORECASE)
_FOREIGN: Final = re.compile(
    r"\b(?:train\w*|data|releas\w*|updat\w*|chang\w*|errors?|failures?|status\w*|https?|faster|slower|better|best|good"
    r"|great|bad|works?|worked|saves?|takes?|percent\w*|pages?|chapters?|sections?|tables?|figures?|examples?"
    r"|requires?|needs?|apis?|gpus?|servers?|compared|years?|dates?|drafts?|editions?)\b|[%$€£]",
    re.IGNORECASE,
)
_NUMERIC: Final = re.compile(
    r"\b(?:randomness|penalty|penalties|probability|probabilities|threshold|mass|cut-?off|weight|strength|seed|budget"
    r"|degree|level|factor|ratio|creativity|diversity|variety|answers?|completions?|choices|alternatives?|candidates?"
    r"|beams?|results?|score|scale|intensity|chance|share|fraction|temperature|tokens?)$",
    re.IGNORECASE,
)
_PREPOSITION: Final = re.compile(r"\b(?:of|for|to|that|which|in|on|at|with|from|by|as|used|sent|given)\b")
_JOINTS: Final = (
    re.compile(r"(?P<head>[^()]+?)\s*\((?P<tail>[^()]+)\)"),
    re.compile(r"(?P<head>[^():]+?)\s*:\s+(?P<tail>.+)", re.DOTALL),
    re.compile(r"(?P<head>[^()]+?)\s+-\s+(?P<tail>.+)", re.DOTALL),
    re.compile(rf"(?P<head>[^()]+?)\s+(?P<tail>(?:between|from)\s+{NUMBER}.*)", re.IGNORECASE | re.DOTALL),
)
_YEAR: Final = re.compile(r"(?:19|20)\d\d")


def describes_value(words: str, name: str) -> bool:
    """Return whether words only describe the value of the parameter `name`."""
    text = _EXTREME.sub(" ", words.lower()).strip(" `\"',")
    if not text:
        return bool(words.strip())
    if re.search(r"\d", text) or _FOREIGN.search(text) or is_restricting(text):
        return False
    phrase = _PREPOSITION.split(text, maxsplit=1)[0].strip()
    return bool(_OPENING.match(text) or _NUMERIC.search(phrase) or names_value(text, name))


def split_description(words: str) -> Iterator[tuple[str, str]]:
    """Yield the ways to split a clause at a bracket, a colon, a dash or `between`, as a description and the rest."""
    for joint in _JOINTS:
        match = joint.fullmatch(words.strip())
        if match is not None and re.search(r"\d", match["tail"]):
            yield match["head"], match["tail"]


def is_span_of_years(words: str) -> bool:
    """Return whether all numbers of words are years, which are a range only if a word says so."""
    numbers = re.findall(NUMBER, words)
    return len(numbers) > 1 and all(_YEAR.fullmatch(number.lstrip("-")) for number in numbers)
