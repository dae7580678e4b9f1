"""Checks of sampling parameters in requests with many others: each keeps its effect next to all of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from conformance.check import Context, Finding, NotExercised, series
from conformance.judge.applicability import why_unanswered
from conformance.judge.checks.effects.sampling import is_likeliest, leaves_greedy
from conformance.judge.round_texts import FEW_CHARACTERS, equals_greedy, text_of
from conformance.judge.rounds import trial
from conformance.statistics import AT_SIGHT, SAME_ANSWER, TWICE

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from conformance.check import Round
    from conformance.exchange import Exchange

BESIDE_OTHERS = "effects-beside-others"
SEEDED = ("greedy", "seeded", "seeded-again")


@trial(
    "effects.top-k-beside-others",
    scenario=BESIDE_OTHERS,
    parts=("greedy", "top-one"),
    test=SAME_ANSWER,
    expected="the likeliest text",
)
def top_k_holds_beside_others(round_: Round, earlier: Sequence[Round]) -> bool | None:
    """With top_k 1 only the likeliest token remains, also in a stream, and next to top_p, min_p, seed and tools."""
    return is_likeliest(round_, earlier, "top-one")


@trial(
    "effects.top-p-beside-others",
    scenario=BESIDE_OTHERS,
    parts=("greedy", "narrow"),
    test=SAME_ANSWER,
    expected="the likeliest text",
)
def top_p_holds_beside_others(round_: Round, earlier: Sequence[Round]) -> bool | None:
    """With a top_p near 0 only the likeliest token remains, also next to top_k, min_p, seed and tools."""
    return is_likeliest(round_, earlier, "narrow")


@trial(
    "effects.min-p-beside-others",
    scenario=BESIDE_OTHERS,
    parts=("greedy", "min-p"),
    test=SAME_ANSWER,
    expected="the likeliest text",
)
def min_p_holds_beside_others(round_: Round, earlier: Sequence[Round]) -> bool | None:
    """With min_p 1 only the likeliest token remains, also in a stream, and next to top_p, top_k, seed and tools."""
    return is_likeliest(round_, earlier, "min-p")


@trial(
    "effects.seed-beside-others",
    scenario=BESIDE_OTHERS,
    parts=SEEDED,
    test=SAME_ANSWER,
    expected="the same text twice",
)
def seeds_repeat_beside_others(round_: Round, _: Sequence[Round]) -> bool | None:
    """The same seed gives the same text, also next to top_p, top_k, min_p, a penalty, stop and logprobs."""
    return _is_repeated(round_)


# Not among the others: MindIE rules out tools together with stop and logprobs.
@trial(
    "effects.seed-beside-tools",
    scenario="effects-seed-beside-tools",
    parts=SEEDED,
    test=SAME_ANSWER,
    expected="the same text twice",
)
def seeds_repeat_beside_tools(round_: Round, _: Sequence[Round]) -> bool | None:
    """The same seed gives the same text, also next to tools that must not be called."""
    return _is_repeated(round_)


@trial(
    "effects.seed-beside-forms",
    scenario="effects-seed-beside-forms",
    parts=("drawn", "drawn-again"),
    test=SAME_ANSWER,
    expected="the same text twice",
)
def seeds_repeat_beside_forms(round_: Round, _: Sequence[Round]) -> bool | None:
    """The same seed gives the same text, also of JSON that fits a schema with many values."""
    return text_of(round_, "drawn") == text_of(round_, "drawn-again")


@trial(
    "effects.temperature-beside-tools",
    scenario="effects-seed-beside-tools",
    parts=("greedy", "seeded"),
    test=TWICE,
    expected="another text than the greedy one",
)
def high_temperature_varies_beside_tools(round_: Round, _: Sequence[Round]) -> bool | None:
    """At temperature 2 answers differ from the greedy one, also next to tools that must not be called."""
    return leaves_greedy(round_, "seeded")


@trial(
    "effects.temperature-beside-forms",
    scenario="effects-seed-beside-forms",
    parts=("drawn",),
    test=AT_SIGHT,
    expected="another text than with other seeds",
)
def high_temperature_varies_beside_forms(round_: Round, earlier: Sequence[Round]) -> bool | None:
    """At temperature 1.5 JSON that fits a schema with many values differs between seeds."""
    if not earlier:
        return None
    return text_of(round_, "drawn") != text_of(earlier[0], "drawn")


def _is_repeated(round_: Round) -> bool | None:
    """Return whether both seeded texts are equal; None if the first one is the greedy text, which needs no seed."""
    if equals_greedy(round_, "seeded"):
        return None
    return text_of(round_, "seeded") == text_of(round_, "seeded-again")


KEPT_BESIDE = "effects-kept-beside-others"
BESIDE = "-beside"
TOOLS = "-tools"
EARLY_SHARE = 0.75


@series("effects.kept-beside-others", scenario=KEPT_BESIDE)
def effects_are_kept_beside_others(exchanges: Mapping[str, Exchange], _: Context) -> Iterator[Finding]:
    """A penalty changes the likeliest answer also in each choice of a stream next to many other parameters, if it does
    alone.

    Reported if a choice next to the others is, up to its limit, exactly the answer without the parameter.
    """
    base = _texts(exchanges).get("base", "")
    if len(base) < FEW_CHARACTERS:
        raise NotExercised("the answer is too short to compare")
    yield from _find_lost(exchanges, BESIDE, base, len(base))


@series("effects.kept-beside-tools", scenario=KEPT_BESIDE)
def effects_are_kept_beside_tools(exchanges: Mapping[str, Exchange], _: Context) -> Iterator[Finding]:
    """A penalty changes the likeliest answer also after another turn and next to tools, if it does without both.

    Judged if the answer without the parameter begins with the same text there, and if the other one leaves this text.
    Reported if the answer with the parameter is that without it.
    """
    texts = _texts(exchanges)
    base, usual = texts.get("base", ""), texts.get(f"base{TOOLS}", "")
    early = int(EARLY_SHARE * len(usual))
    if min(len(base), early) < FEW_CHARACTERS or base[:early] != usual[:early]:
        raise NotExercised("the answer next to tools is another one, or too short to compare")
    yield from _find_lost(exchanges, TOOLS, usual, early)


def _texts(exchanges: Mapping[str, Exchange]) -> dict[str, str]:
    return {name: item.content() or "" for name, item in exchanges.items() if why_unanswered(item) is None}


def _find_lost(exchanges: Mapping[str, Exchange], suffix: str, usual: str, early: int) -> Iterator[Finding]:
    """Yield a finding for each parameter that changes the answer alone, but not in the request with this suffix.

    usual: the answer to such a request without the parameter.
    early: the characters among which the change has to begin: next to others it may begin a little later.
    """
    texts = _texts(exchanges)
    pairs = [(name, f"{name}{suffix}") for name in exchanges if name != "base"]
    compared = [
        (texts[alone], beside)
        for alone, beside in pairs
        if {alone, beside} <= texts.keys()
        and not texts["base"].startswith(texts[alone])
        and texts[alone][:early] != texts["base"][:early]
    ]
    if not compared:
        raise NotExercised("no parameter changes the greedy answer, or none is supported")
    for text, beside in compared:
        if (at := find_unchanged(usual, exchanges[beside])) is not None:
            yield Finding(
                f"/{beside}/choices/{at}/message/content",
                f"another text than without the parameter, such as {text!r}"[:200],
                repr(exchanges[beside].choices[at].content)[:200],
            )


def find_unchanged(base: str, exchange: Exchange) -> int | None:
    """Return the first choice with exactly the base as its text, up to its limit; None without any."""
    for index, choice in exchange.choices.items():
        text, is_cut = choice.content, exchange.finish_reason(index) == "length"
        if text and (text == base or (base.startswith(text) and is_cut)):
            return index
    return None
