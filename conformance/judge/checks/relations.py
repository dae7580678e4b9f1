"""Checks of what must not change an answer: two requests that mean the same give the same answer.

The answers are greedy or seeded. If they do not repeat, nothing is reported.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from conformance.check import Context, Finding, NotExercised, NotObserved, relation, series
from conformance.judge.answer_fields import shape_of
from conformance.judge.applicability import why_unanswered
from conformance.judge.checks.usage.prompt import require_accepted
from conformance.judge.evidence.answer_difference import compare_answers
from conformance.judge.evidence.repetition import require_repetition, require_some_repetition
from conformance.judge.round_texts import REQUESTS_IN_TURN, text_of
from conformance.judge.rounds import trial
from conformance.judge.token_counts import COUNTS, LIMITED_STEPS, STREAMED_CUTS
from conformance.statistics import AT_SIGHT
from conformance.text_diff import differ_by_one_gap

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from conformance.check import Check, Round, RoundPredicate
    from conformance.exchange import Exchange

SCENARIO = "same-request"
FEW_CHARACTERS = 40  # in a shorter text a common beginning and end may be chance
BASES = ("base", "base-again")
TOLD = "told"  # the request with log-probabilities


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


@relation("relations.shorter-is-a-beginning", over=LIMITED_STEPS, unmet=why_unanswered)
def a_shorter_limit_gives_a_beginning(exchanges: Mapping[str, Exchange], context: Context) -> Iterator[Finding]:
    """A greedy answer that max_tokens cuts off is the beginning of the whole one, at every length.

    Reported if something was lost or repeated. An answer that diverges only shows that greedy answers do not repeat.
    """
    require_repetition(context)
    texts = {name: exchanges[name].content() or "" for name in LIMITED_STEPS}
    yield from _beginnings(texts["whole"], {name: texts[name] for name in LIMITED_STEPS[1:]})


@relation("relations.streamed-cut-as-plain", over=("whole", *LIMITED_STEPS[1:], *STREAMED_CUTS), unmet=why_unanswered)
def a_cut_stream_is_the_cut_answer(exchanges: Mapping[str, Exchange], _: Context) -> Iterator[Finding]:
    """A stream that is cut off at any length has the text of the plain answer: nothing is lost at the end.

    Part of a character may be left out or written as U+FFFD, but both forms must do the same.
    """
    whole = exchanges["whole"].content() or ""
    for plain, streamed in zip(LIMITED_STEPS[1:], STREAMED_CUTS, strict=True):
        text, found = (exchanges[name].content() or "" for name in (plain, streamed))
        if not whole.startswith(text.rstrip("\ufffd")):
            raise NotExercised("greedy answers of this server do not repeat")
        if text != found and (whole.startswith(found.rstrip("\ufffd")) or "\ufffd" in found):
            yield Finding(f"/{streamed}/choices/0/message/content", repr(text), repr(found))


def _beginnings(whole: str, cuts: Mapping[str, str]) -> Iterator[Finding]:
    """Yield a finding for each cut answer that is not a beginning of the whole one, or is shorter than the previous
    one.
    """
    findings: list[Finding] = []
    before = ""
    for name, text in cuts.items():
        kept = text.rstrip("\ufffd")
        if not whole.startswith(kept):
            if not kept or not (kept[0] == whole[:1] or kept in whole):
                raise NotExercised("greedy answers of this server do not repeat")
            findings.append(
                Finding(f"/{name}/choices/0/message/content", f"a beginning of {whole!r}"[:200], repr(text))
            )
        elif len(kept) < len(before):
            findings.append(Finding(f"/{name}/choices/0/message/content", f"{before!r} or more", repr(text)))
        before = kept
    if len(findings) > len(cuts) // 2 and not any(cuts.values()):
        raise NotExercised("the answers are empty")
    yield from findings


@relation("relations.limit-grows", over=("whole", "roomy"), unmet=why_unanswered)
def more_room_does_not_change_an_ended_answer(exchanges: Mapping[str, Exchange], _: Context) -> Iterator[Finding]:
    """A greedy answer that ended by itself is the same with a greater max_tokens."""
    whole, roomy = exchanges["whole"], exchanges["roomy"]
    sent: Any = whole.request_json
    counted = (whole.usage or {}).get("completion_tokens")
    if whole.finish_reason() != "stop" or type(counted) is not int or counted >= sent["max_tokens"]:
        raise NotExercised("the answer did not end by itself")
    text, found = whole.content() or "", roomy.content() or ""
    if text != found:
        if not (text.startswith(found) or found.startswith(text)):
            raise NotExercised("greedy answers of this server do not repeat")
        yield Finding("/roomy/choices/0/message/content", repr(text)[:200], repr(found)[:200])


@relation("relations.long-streamed", over=("long-plain", "long-again", "long-streamed"), unmet=why_unanswered)
def a_long_stream_loses_and_repeats_nothing(exchanges: Mapping[str, Exchange], _: Context) -> Iterator[Finding]:
    """A long greedy answer is the same streamed and plain: nothing in it is lost or repeated.

    Reported if one text is the other with a piece missing. An answer that diverges only shows that greedy answers do
    not repeat. Part of a character may be written in more than one way.
    """
    plain, streamed = exchanges["long-plain"], exchanges["long-streamed"]
    text, found = plain.content() or "", streamed.content() or ""
    if text != exchanges["long-again"].content():
        raise NotExercised("greedy answers of this server do not repeat")
    if "\ufffd" in text or "\ufffd" in found:
        raise NotExercised("the text has parts of characters")
    if plain.finish_reason() != streamed.finish_reason():
        raise NotExercised("the answers end for different reasons")
    if differ_by_one_gap(text, found, FEW_CHARACTERS, cut=plain.finish_reason() == "length"):
        yield Finding("/long-streamed/choices/0/message/content", repr(text)[-200:], repr(found)[-200:])
    elif text != found:
        raise NotExercised("greedy answers of this server do not repeat")


@relation("relations.long-prompt-repeats", over=("thousand", "thousand-again", "thousand-streamed"))
def a_long_prompt_has_the_same_answer(exchanges: Mapping[str, Exchange], context: Context) -> Iterator[Finding]:
    """A long prompt has the same greedy answer each time, also if it is cached or the answer is streamed."""
    require_accepted(exchanges)
    require_some_repetition(context)
    first, *others = exchanges
    for name in others:
        if compare_answers(exchanges[first], exchanges[name]) == "clear":
            expected, found = (exchanges[key].content() for key in (first, name))
            yield Finding(f"/{name}/choices/0/message/content", repr(expected)[:200], repr(found)[:200])


@relation("relations.paired-streamed-as-plain", over=("paired", "paired-streamed"))
def paired_parameters_mean_the_same_in_streams(
    exchanges: Mapping[str, Exchange], context: Context
) -> Iterator[Finding]:
    """A request with several parameters has the same choices streamed as plain, unless one of the forms is refused."""
    require_repetition(context)
    if any(400 <= (exchange.status or 0) < 500 for exchange in exchanges.values()):
        raise NotExercised("the combination is refused")
    for exchange in exchanges.values():
        if reason := why_unanswered(exchange):
            raise NotObserved(reason)
    plain, streamed = exchanges.values()
    if compare_answers(plain, streamed) == "clear":
        texts = [[choice.content for choice in exchange.choices.values()] for exchange in (plain, streamed)]
        yield Finding("/paired-streamed/choices", repr(texts[0])[:200], repr(texts[1])[:200])


@series("relations.same-after-others", scenario="one-after-many")
def earlier_requests_do_not_matter(exchanges: Mapping[str, Exchange], _: Context) -> Iterator[Finding]:
    """A seeded request has the same answer after requests of every other kind, if it has the same answer twice."""
    drawn = {name: item for name, item in exchanges.items() if name.startswith("drawn") and not why_unanswered(item)}
    if not {"drawn-first", "drawn-again"} <= drawn.keys():
        raise NotObserved("the seeded request was not answered")
    first = drawn["drawn-first"]
    if compare_answers(first, drawn["drawn-again"]) != "none":
        raise NotExercised("seeded answers of this server do not repeat")
    for name, exchange in drawn.items():
        if compare_answers(first, exchange) == "clear":
            where = f"/{name}/choices/0/message/content"
            yield Finding(where, repr(first.content())[:200], repr(exchange.content())[:200])


def _by_request(exchanges: Mapping[str, Exchange], context: Context) -> Iterator[tuple[str, list[Exchange]]]:
    """Yield the name of each request that is repeated through the run, with its answers in the order of sending."""
    steps = [step for step in context.scenario.steps if step.name in exchanges]
    for part in dict.fromkeys(step.part for step in steps):
        answers = [exchanges[step.name] for step in steps if step.part == part]
        answers = [answer for answer in answers if why_unanswered(answer) is None]
        if len(answers) > 2:
            yield part, answers


@series("relations.same-throughout", scenario="anchors")
def answers_stay_the_same_throughout(exchanges: Mapping[str, Exchange], context: Context) -> Iterator[Finding]:
    """The same greedy or seeded request has the same answer from the first request of the run to the last.

    Not judged for a request without an answer that half of its repetitions share. Reported if rounding cannot explain
    the others: log-probabilities show it, or several answers clearly differ.
    """
    compared, odd = False, []
    for part, answers in _by_request(exchanges, context):
        shape, number = Counter(map(shape_of, answers)).most_common(1)[0]  # the earliest of several
        if 2 * number < len(answers):
            continue
        compared = True
        usual = next(answer for answer in answers if shape_of(answer) == shape)
        for answer in answers:
            if compare_answers(usual, answer) == "clear":
                where = f"/{answer.step}/choices/0/message"
                odd.append((part, Finding(where, repr(usual.content())[:200], repr(answer.content())[:200])))
    if not compared:
        raise NotExercised("no request has the same answer most of the time")
    if len(odd) > 1 or any(part == TOLD for part, _ in odd):
        yield from (finding for _, finding in odd)


@series("relations.counted-the-same-throughout", scenario="anchors")
def tokens_are_counted_the_same_throughout(exchanges: Mapping[str, Exchange], context: Context) -> Iterator[Finding]:
    """Usage counts the same tokens for the same request and answer, from the first request of the run to the last."""
    compared = False
    for _, answers in _by_request(exchanges, context):
        groups: dict[Any, list[Exchange]] = {}
        for answer in answers:
            groups.setdefault(shape_of(answer), []).append(answer)
        for same in groups.values():
            counts = [[(answer.usage or {}).get(name) for name in COUNTS] for answer in same]
            if len(same) < 2 or counts[0] == [None, None, None]:
                continue
            compared = True
            usual = Counter(map(str, counts)).most_common(1)[0][0]
            for answer, count in zip(same, counts, strict=True):
                if str(count) != usual:
                    yield Finding(f"/{answer.step}/usage", f"{usual} ({', '.join(COUNTS)})", f"{count}")
    if not compared:
        raise NotExercised("no answer that repeats has usage")
