"""Check whether the same note counts the same number of tokens in each part of a prompt."""

from __future__ import annotations

from itertools import chain
from statistics import median_low
from typing import TYPE_CHECKING, Any, Final

from conformance.check import Context, Finding, NotExercised, series
from conformance.judge.applicability import why_unanswered
from conformance.judge.token_counts import prompt_count
from conformance.plan.scenarios.prompts.clauses import NOTE, write_text
from conformance.plan.scenarios.prompts.prompt_parts import SCENARIO, WITHOUT

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from conformance.exchange import Exchange

SPARE_TOKENS: Final = 2
"""By how many tokens the counts may differ: a note may be joined to the text in front of it by another character."""
LEAST_NOTES: Final = 3


@series("prompt.notes-counted-alike", scenario=SCENARIO)
def a_note_counts_the_same_everywhere(exchanges: Mapping[str, Exchange], _: Context) -> Iterator[Finding]:
    """The same note adds about as many prompt tokens in each part of a conversation: in instructions, questions and
    answers, also in parts, next to tools and pictures, and in streams. It is nowhere escaped, folded or repeated.

    It has letters of other cases and scripts, quotes, entities, tags, backslashes, and spaces in a row. In the result
    of a tool it may add more tokens, because models read some results as JSON. Where it adds nothing at all it is lost,
    which is not judged here. Not judged if it does not add about as many tokens in most of at least three parts.
    """
    texts: dict[str, int] = {}
    results: dict[str, int] = {}
    for name, exchange in exchanges.items():
        whole = exchanges.get(name.partition(WITHOUT)[0])
        if whole is None or whole is exchange or why_unanswered(whole) or why_unanswered(exchange):
            continue
        role, added = _find_role(whole, exchange), _count(whole) - _count(exchange)
        if role and added > 0:
            (results if role == "tool" else texts)[name] = added
    usual = median_low(texts.values()) if len(texts) >= LEAST_NOTES else 0
    fitting = [added for added in texts.values() if abs(added - usual) <= SPARE_TOKENS]
    if not usual or len(fitting) <= len(texts) / 2:
        raise NotExercised("too few requests with the note are answered, or it does not add a usual number of tokens")
    for name, added in chain(texts.items(), results.items()):
        if abs(added - usual) > SPARE_TOKENS and not (name in results and added > usual):
            yield Finding(
                f"/{name}/usage/prompt_tokens",
                f"about {usual} tokens less than with the note, as in most other parts",
                f"{added} less",
            )


def _find_role(whole: Exchange, without: Exchange) -> str:
    """Return the role of the message that has lost its note, if nothing else in it differs; otherwise nothing."""
    pairs = zip(_messages(whole), _messages(without), strict=False)
    changed = [(message, other) for message, other in pairs if message.get("content") != other.get("content")]
    if len(changed) != 1 or _without_note(changed[0][0].get("content")) != changed[0][1].get("content"):
        return ""
    return str(changed[0][0].get("role"))


def _without_note(content: Any) -> Any:
    """Return a content, as text or in parts, without the note."""
    if isinstance(content, list):
        return [part for part in content if part != write_text(NOTE)]
    return content.removesuffix(f" {NOTE}") if isinstance(content, str) else content


def _messages(exchange: Exchange) -> list[dict[str, Any]]:
    messages: list[dict[str, Any]] = exchange.request_json["messages"]
    return messages


def _count(exchange: Exchange) -> int:
    """Return the prompt tokens, or 0 if they are not counted."""
    try:
        return prompt_count(exchange)
    except NotExercised:
        return 0
