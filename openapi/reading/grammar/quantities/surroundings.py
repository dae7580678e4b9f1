"""Words around an amount that name what is counted, such as `The conversation so far, ...`, and state nothing else.

A subject is known by its head: the last word in front of the first preposition. Other subjects, such as a plan or a
model, may restrict the amount to something that is not the value.
"""

from __future__ import annotations

import re
from typing import Final

from openapi.reading.grammar.types import parse_types

_VALUES: Final = frozenset(
    "conversation chat dialog dialogue history transcript text prompt input content body list array sequence set"  # noqa: SIM905 - a word list
    " collection string name title description identifier id tag label metadata field parameter property value length"
    " size number count message tool function word phrase item element entry document file image stop question query"
    " turn example alias instruction keyword reason nickname code token choice pair".split()
)
"""Heads of subjects that stand for the value of a parameter or for its elements."""
_ARTICLES: Final = frozenset({"the", "a", "an", "your", "this", "these", "its", "all"})
_PREPOSITIONS: Final = re.compile(
    r"\b(?:of|for|to|that|which|who|whose|where|in|on|at|with|from|by|between|so far|as|the model|you|it|used|sent"
    r"|given|describing|ending|containing)\b"
)
_RESTRICTING: Final = re.compile(
    r"\b(?:if|when|whenever|while|unless|except|only|otherwise|but|or|per|each|every|any|both|depending|provided|among"
    r"|free|paid|tiers?|plans?|trial|beta|preview|legacy|old|older|newer|deprecated|versions?|models|accounts?"
    r"|customers?|regions?|modes?|enterprise|premium|stream(?:s|ed|ing)?|batch(?:es)?|sessions?|organi[sz]ations?"
    r"|recommend\w*|advi[sc]e\w*|prefer\w*|typical\w*|usual\w*|often|about|around|approx\w*|roughly|average|mean"
    r"|costs?|prices?|priced|charged?|billed|credits?|minutes?|hours?|days?|seconds?|months?|weeks?|years?|time|times"
    r"|concurrent\w*|parallel|not|no|non|never|cannot|can't|without|other|others|another|than|ignored|truncated"
    r"|dropped|kept|cut|removed|rejected|counted|counts|must|should|null|empty|default\w*|required|mandatory|optional"
    r"|limit\w*|exceed\w*|invalid|at least|at most|up to|maximum|minimum|max|min|support\w*|allow\w*|together"
    r"|exclusive|one|two|three|four|five|six|seven|eight|nine|ten|first|before|after|during|since|until)\b"
)
_AFTER: Final = re.compile(
    r"(?:that|which|where|to|at which|after which|used|sent|describing|for (?:the model|this|which))\b.*"
    r"|of (?:(?!(?:is|are|was|were|has|have|can|will|may|be|get|gets|run|runs)\b)[\w-]+ ?){1,4}"
    r"|in (?:the|this|a|one) (?:conversation|list|array|request|history|order)|in order",
    re.DOTALL,
)


def is_subject(words: str, name: str) -> bool:
    """Return whether words are only a name for the value of the parameter `name`, such as `Conversation history`."""
    text = words.lower().strip(" `\"'")
    if re.search(r"\d", text) or is_restricting(text):
        return False
    return names_value(text, name)


def is_restricting(text: str) -> bool:
    """Return whether words in lower case may restrict what follows to some cases, or state a fact."""
    return _RESTRICTING.search(text) is not None


def names_value(text: str, name: str) -> bool:
    """Return whether words in lower case are a noun phrase whose head stands for the value of the parameter `name`."""
    if parse_types(_without_article(text)) is not None:
        return False
    phrase = _PREPOSITIONS.split(text, maxsplit=1)[0]
    heads = re.findall(r"[\w-]+", phrase)
    if not heads:
        return False
    return bool(_singular(heads[-1]) in _VALUES or heads[-1] in re.split(r"\W|_", name.lower()))


def is_explanation(words: str) -> bool:
    """Return whether words behind an amount only explain what is counted, such as `that the model may call`."""
    text = words.lower().strip()
    return bool(_AFTER.fullmatch(text)) and not re.search(r"\d", text) and not _RESTRICTING.search(text)


def last_word(words: str) -> str:
    """Return the head of a subject that consists of one noun phrase; empty for others."""
    heads = re.findall(r"[\w-]+", words.lower())
    return heads[-1] if heads and not _PREPOSITIONS.search(words.lower()) else ""


def _without_article(text: str) -> str:
    article, _, rest = text.partition(" ")
    return rest if article in _ARTICLES else text


def _singular(word: str) -> str:
    if word.endswith("ies"):
        return f"{word[:-3]}y"
    return word if word in _VALUES else word.removesuffix("s")
