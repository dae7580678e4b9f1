"""Compare two answers to one request that should be the same, although a server may round differently each time.

Many servers compute a request in other sums when it shares a batch with others. Of two almost equally likely tokens the
other one may then be chosen, and the text diverges from there. An answer differs clearly if its log-probabilities show
that the tokens are the same, or that the two tokens of a greedy answer were not almost equally likely. It also does if
the same text is in other fields, because rounding moves nothing from the reasoning to the content, or if it lacks its
end although as many tokens are counted. Without log-probabilities,
and for sampled answers, a difference is clear only if the texts differ from their first characters on: at every later
token a near tie is more likely to have occurred.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, Literal

from conformance.check import NotExercised
from conformance.judge.answer_fields import shape_of
from conformance.judge.logprob_entries import CUT, LogprobEntry, any_entries, first_entries

if TYPE_CHECKING:
    from conformance.exchange import Exchange
    from openapi.stream.accumulated_choice import AccumulatedChoice

Difference = Literal["none", "possible", "clear"]
"""Whether an answer differs from another one: "possible" if rounding may be the cause."""
NEAR_TIE: Final = 0.75  # nats; steps of bfloat16 logits are an eighth or a quarter, and two of them may add up
EARLY: Final = 4  # bytes, about one token


def compare_answers(base: Exchange, other: Exchange) -> Difference:
    """Return whether an answer differs from another one to the same request."""
    before, after = shape_of(base).choices, shape_of(other).choices
    if before == after:
        return "none"
    first, second = "".join(map(_text_of, before)), "".join(map(_text_of, after))
    if not first or not second:
        return "clear"
    if first.split() == second.split() and _texts_of(before) != _texts_of(after):
        return "clear"
    if _lacks_its_end(base, other, first, second):
        return "clear"
    if len(before) == len(after) == 1 and _has_same_tokens(base, other) and _differs_in_text(first, second):
        return "clear"
    if is_greedy(base) and (gap := gap_at_divergence(base, other)) is not None:
        return "clear" if gap > NEAR_TIE else "possible"
    early = min(EARLY, len(first.encode(errors="replace")))
    return "clear" if start_of(first)[:early] != start_of(second)[:early] else "possible"


def trimmed_texts(exchange: Exchange) -> list[Any]:
    """Return the content, the reasoning and the calls of all choices, without white space around the texts.

    Some servers trim it in one form only.
    """
    choices = shape_of(exchange).choices
    return [((content or "").strip(), (reasoning or "").strip(), calls) for _, content, reasoning, calls, _ in choices]


def gap_at_divergence(base: Exchange, other: Exchange) -> float | None:
    """Return by how much the base's token was likelier than the other's where the answers diverge.

    If only one of the two answers has log-probabilities, by how much its token was likelier than the other answer's.
    None if log-probabilities do not show it.
    """
    first, second = _entries_of(base), _entries_of(other)
    if not first or not second:
        return _gap_in_text(base, other) if first else _gap_in_text(other, base)
    for known, entry in zip(first, second, strict=False):
        if known.token != entry.token:
            return _gap(known, entry.token)
    return None


def is_near_tie(base: Exchange, other: Exchange) -> bool:
    """Return whether log-probabilities show that two greedy answers diverge at almost equally likely tokens."""
    gap = gap_at_divergence(base, other) if is_greedy(base) else None
    return gap is not None and gap <= NEAR_TIE


def is_greedy(exchange: Exchange) -> bool:
    """Return whether the request asks for the likeliest tokens."""
    sent: Any = exchange.request_json
    return isinstance(sent, dict) and sent.get("temperature") == 0


def start_of(text: str) -> bytes:
    """Return the first bytes of an answer, about one token: some scripts have a token for each character."""
    return text[:EARLY].encode(errors="replace")[:EARLY]


def _text_of(choice: tuple[Any, ...]) -> str:
    """Return the text, the reasoning and the tool calls of a choice as one string."""
    _, content, reasoning, calls, _ = choice
    return f"{reasoning or ''}{content or ''}{''.join(f'{name}{arguments}' for name, arguments in calls)}"


def _lacks_its_end(base: Exchange, other: Exchange, first: str, second: str) -> bool:
    """Return whether one answer is the beginning of the other, although as many tokens are counted for both.

    Not judged next to stop strings, which some documents leave out of one form only.
    """
    sent: Any = base.request_json
    if not isinstance(sent, dict) or sent.get("stop"):
        return False
    counts = [(exchange.usage or {}).get("completion_tokens") for exchange in (base, other)]
    shorter, longer = sorted((first.strip(), second.strip()), key=len)
    return counts[0] is not None and counts[0] == counts[1] and shorter != longer and longer.startswith(shorter)


def _texts_of(choices: tuple[tuple[Any, ...], ...]) -> list[tuple[str, str]]:
    """Return the content and the reasoning of each choice, without white space around them."""
    return [((content or "").strip(), (reasoning or "").strip()) for _, content, reasoning, *_ in choices]


def _has_same_tokens(base: Exchange, other: Exchange) -> bool:
    """Return whether log-probabilities show that both answers consist of the same tokens."""
    try:
        first, second = first_entries(base), first_entries(other)
    except NotExercised:
        return False
    return [entry.token for entry in first] == [entry.token for entry in second]


def _differs_in_text(first: str, second: str) -> bool:
    """Return whether two texts differ in more than white space around them, or in parts of characters."""
    return CUT not in first + second and first.strip() != second.strip()


def _entries_of(exchange: Exchange) -> list[LogprobEntry]:
    """Return the entries of the choice with the lowest index; none without log-probabilities."""
    entries = any_entries(exchange)
    return entries[min(entries)] if entries else []


def _gap_in_text(scored: Exchange, other: Exchange) -> float | None:
    """Return by how much the first token of a scored answer that another text does not have was likelier than its own.

    White space before the texts does not count, because some servers trim it in one form only. None if either answer
    has more than content, if the entries are not its text, or if the other one is the beginning of this one.
    """
    entries = _entries_of(scored)
    texts = [choice.content.lstrip() for choice in map(_only_content, (scored, other)) if choice is not None]
    if len(texts) < 2 or "".join(entry.token for entry in entries).lstrip() != texts[0]:
        return None
    rest = texts[1]
    for entry in entries:
        token = entry.token if len(rest) < len(texts[1]) else entry.token.lstrip()
        if not rest.startswith(token):
            possible = [item.token for item in entry.top if item.identifies_token and rest.startswith(item.token)]
            return _gap(entry, max(possible, key=len, default="")) if rest else None
        rest = rest.removeprefix(token)
    return None


def _only_content(exchange: Exchange) -> AccumulatedChoice | None:
    """Return the first choice of an answer; None if it has reasoning or calls."""
    choice = exchange.first_choice
    return None if choice is None or choice.reasoning or choice.tool_calls else choice


def _gap(chosen: LogprobEntry, token: str) -> float | None:
    """Return the distance of a token from the chosen one; at least that of the least likely one that is listed."""
    listed = {item.token: item.logprob for item in chosen.top}
    if len(listed) < 2:
        return None
    return chosen.logprob - listed.get(token, min(listed.values()))
