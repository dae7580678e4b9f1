"""Words that only describe a value, such as `Most tokens to generate`, so that what follows is about the value.

They are a noun phrase whose head stands for the value, or begin with a word such as `how` or `controls`. Words about
something else (a release, a status, a percentage, advice) or about some cases only may restrict what follows.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from openapi.reading.grammar.quantities.surroundings import is_restricting, names_value
from openapi.reading.grammar.vocabulary import NUMBER, normalize

if TYPE_CHECKING:
    from collections.abc import Iterator

_FACT_HINT: Final = re.compile(
    r"\d|null|\b(?:must|cannot|can not|only|default|required|mandatory|optional|at least|at most|maximum size|minimum"
    r"|limit\w*|exceed\w*|not support\w*|invalid)\b"
    r"|必须|不能|不可|仅|只|默认|必选|可选|范围|最大值|最小值|不超过|至少|至多|不支持|报错",
    re.IGNORECASE,
)

_WEAK_HINT: Final = re.compile(
    r"\b(?:one of|either|between|up to|(?:values?|options?) (?:is|are)|allowed|accepts?|accepted|ignored|requires?"
    r"|needs|(?:has|have) the (?:fields|keys|properties)|always|never|shall|may not|together with|mutually exclusive"
    r"|greater|less|(?:non-)?empty|omitted|left out"
    r"|absent|unset|falls? back)\b"
    r"|取值|固定|最多|最少|超过|以内|介于",
    re.IGNORECASE,
)
_LISTED: Final = re.compile(r"`[^`]+`\s*(?:,|\||/|or\b|或)\s*(?:or\s+)?`|`\s*\{|\{\s*\"")
"""Values in code, one after another, or an object of JSON."""
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
_CHINESE: Final = re.compile(r"[\u4e00-\u9fff]")
_RESTRICTING_ZH: Final = re.compile(
    r"如|若|当|仅|只|除|(?<![同实])时|情况|场景|模式|用户|版本|套餐|免费|付费|旧|建议|推荐|一般|通常|大多|部分|某些|有些|不|否则|但"
    r"|其[他余]|每个?(?:元素|序列|字符串|项|条|词)|单个|[%$€£]"
)
"""Words that may restrict what follows, or say that it is advice."""
_JOINTS: Final = (
    re.compile(r"(?P<head>[^()]+?)\s*\((?P<tail>[^()]+)\)"),
    re.compile(r"(?P<head>[^():]+?)\s*:\s+(?P<tail>.+)", re.DOTALL),
    re.compile(r"(?P<head>[^()]+?)\s+-\s+(?P<tail>.+)", re.DOTALL),
    re.compile(rf"(?P<head>[^()]+?)\s+(?P<tail>(?:between|from)\s+{NUMBER}.*)", re.IGNORECASE | re.DOTALL),
)
_YEAR: Final = re.compile(r"(?:19|20)\d\d")


def describes_value(words: str, name: str) -> bool:
    """Return whether words only describe the value of the parameter `name`."""
    if _CHINESE.search(words):
        return not re.search(r"\d", words) and _RESTRICTING_ZH.search(words) is None
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


def may_hold_fact(text: str, *, thorough: bool = False) -> bool:
    """Return whether prose may state a fact: it contains a number, null, or a word for a limit or condition.

    thorough: whether words count that prose without a fact often contains, too.
    """
    words = normalize(text)
    return bool(_FACT_HINT.search(words) or (thorough and (_WEAK_HINT.search(words) or _LISTED.search(text))))
