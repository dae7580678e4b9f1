"""Checks of what must not change an answer: two requests that mean the same give the same answer.

The answers are greedy or seeded. If they do not repeat, nothing is reported.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from conformance.check import NotExercised
from conformance.judge.round_texts import REQUESTS_IN_TURN, text_of
from conformance.judge.rounds import trial
from conformance.statistics import AT_SIGHT

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from conformance.check import Check, Round, RoundPredicate

SCENARIO = "same-request"
BASES = ("base", "base-again")


def _equals_seeded(round_: Round, part: str) -> bool:
    """Tell whether an answer equals the seeded one. Raises NotExercised if the seeded answer does not repeat."""
    seeded, again = (text_of(round_, name) for name in ("drawn", "drawn-again"))
    if seeded != again:
        raise NotExercised("seeded answers of this server do not repeat")
    return text_of(round_, part) == seeded


def _counts_as_seeded(round_: Round, part: str) -> bool:
    """Tell whether usage, if present, counts as many prompt tokens as for the same prompt before."""
    seeded, again, found = ((round_[name].usage or {}).get("prompt_tokens") for name in ("drawn", "drawn-again", part))
    return seeded != again or found == seeded


@trial(
    "relations.nothing-carried-over",
    scenario=REQUESTS_IN_TURN,
    parts=("settled", "drawn", "drawn-again", "laden", "drawn-after"),
    test=AT_SIGHT,
    expected="the text of the same request before, and the same number of prompt tokens",
)
def nothing_is_carried_over(round_: Round, _: Sequence[Round]) -> bool | None:
    """A seeded request has the same answer after another request that sets every parameter which it leaves out itself.

    The request in between has instructions, a temperature of 0, penalties, biases and a lower limit. If one of them
    changes the next answer, or the number of its prompt tokens, the server kept it for the next request.
    """
    return _equals_seeded(round_, "drawn-after") and _counts_as_seeded(round_, "drawn-after")


@trial(
    "relations.null-as-left-out",
    scenario=REQUESTS_IN_TURN,
    parts=("drawn", "drawn-again", "nulled"),
    test=AT_SIGHT,
    expected="the text of the request that leaves them out",
)
def null_is_as_good_as_left_out(round_: Round, _: Sequence[Round]) -> bool | None:
    """Parameters that are null give the same answer as parameters that are left out: null stands for the default, not
    for 0.
    """
    return _equals_seeded(round_, "nulled")


def _same(identity: str, part: str) -> Callable[[RoundPredicate], Check]:
    """Make a trial that compares one variant of a request with the request itself."""
    return trial(
        identity, scenario=SCENARIO, parts=(*BASES, part), test=AT_SIGHT, expected="the text of the request itself"
    )


def _agrees(round_: Round, earlier: Sequence[Round], part: str) -> bool | None:
    """Tell whether a variant has the same answer as the request itself. Raises NotExercised if the latter varies."""
    texts = {other[base].content() for other in (round_, *earlier) for base in BASES}
    if len(texts) > 1:
        raise NotExercised("greedy answers of this server do not repeat")
    return round_[part].content() in texts


@_same("relations.order-of-members", "reversed")
def order_of_members_does_not_matter(round_: Round, earlier: Sequence[Round]) -> bool | None:
    """The order of the fields of a request does not change the answer."""
    return _agrees(round_, earlier, "reversed")


@_same("relations.white-space", "spaced")
def white_space_does_not_matter(round_: Round, earlier: Sequence[Round]) -> bool | None:
    """White space between the fields of a request does not change the answer."""
    return _agrees(round_, earlier, "spaced")


@_same("relations.escapes", "escaped")
def escapes_stand_for_their_characters(round_: Round, earlier: Sequence[Round]) -> bool | None:
    """A request written in ASCII, with escapes for all other characters, has the same answer."""
    return _agrees(round_, earlier, "escaped")


@_same("relations.unknown-member", "unknown")
def unknown_member_does_not_matter(round_: Round, earlier: Sequence[Round]) -> bool | None:
    """A field that no document defines does not change the answer, unless it is refused."""
    return _agrees(round_, earlier, "unknown")


@_same("relations.defaults-said", "defaults")
def defaults_can_be_said(round_: Round, earlier: Sequence[Round]) -> bool | None:
    """Defaults that are sent give the same answer as defaults that are left out."""
    return _agrees(round_, earlier, "defaults")


@_same("relations.seed-when-greedy", "seeded")
def seed_does_not_matter_when_greedy(round_: Round, earlier: Sequence[Round]) -> bool | None:
    """A seed does not change a greedy answer, which samples nothing."""
    return _agrees(round_, earlier, "seeded")


@_same("relations.stop-never-met", "unmet")
def a_stop_text_that_is_never_met_does_not_matter(round_: Round, earlier: Sequence[Round]) -> bool | None:
    """A stop string that does not occur in the answer does not change it."""
    return _agrees(round_, earlier, "unmet")


@_same("relations.logprobs-asked-for", "told")
def asking_for_log_probabilities_does_not_matter(round_: Round, earlier: Sequence[Round]) -> bool | None:
    """Log-probabilities do not change the answer."""
    return _agrees(round_, earlier, "told")


@_same("relations.one-choice-said", "one")
def asking_for_one_choice_does_not_matter(round_: Round, earlier: Sequence[Round]) -> bool | None:
    """`n: 1` gives the same answer as no `n`."""
    return _agrees(round_, earlier, "one")


@_same("relations.tools-empty", "toolless")
def an_empty_list_of_tools_does_not_matter(round_: Round, earlier: Sequence[Round]) -> bool | None:
    """An empty list of tools gives the same answer as no list, unless it is refused."""
    return _agrees(round_, earlier, "toolless")


@_same("relations.streamed", "streamed")
def streaming_does_not_change_the_answer(round_: Round, earlier: Sequence[Round]) -> bool | None:
    """The streamed answer is the plain one, also with text beyond ASCII."""
    return _agrees(round_, earlier, "streamed")
