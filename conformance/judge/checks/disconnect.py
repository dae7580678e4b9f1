"""Checks of what follows when clients disconnect: the server keeps working and frees their slots."""

from __future__ import annotations

from typing import TYPE_CHECKING

from conformance.check import Context, Finding, check, relation
from conformance.judge.applicability import in_scenario, why_unanswered
from conformance.judge.evidence.answer_difference import compare_answers, trimmed_texts
from conformance.judge.evidence.repetition import require_repetition

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from conformance.exchange import Exchange

FEW_CHARACTERS = 8  # a few characters less may be part of the last token
FACTOR, GRACE_S = 3.0, 1.0  # reported above three times the slowest request before, plus a second


@check("disconnect.server-goes-on", on=in_scenario("disconnect", "after"))
def server_answers_after_a_client_left(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """The server answers the next request after a client disconnected in the middle of a stream."""
    if reason := why_unanswered(exchange):
        yield Finding("/status", "200", reason)


@check("disconnect.early-leave-survived", on=in_scenario("disconnect-at-once", "after"))
def server_answers_after_a_client_left_at_once(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """The server answers the next request after clients disconnected before the first event."""
    if reason := why_unanswered(exchange):
        yield Finding("/status", "200", reason)


@relation("disconnect.answer-stays-whole", over=("after", "streamed-after"), unmet=why_unanswered)
def answer_is_whole_after_a_client_left(exchanges: Mapping[str, Exchange], context: Context) -> Iterator[Finding]:
    """A greedy request that a client left in the middle of the stream has the same answer when it is sent again,
    streamed as well as plain: what the client had read is not kept in place of the whole answer.

    White space around the texts is not compared. If the stream ends earlier, other greedy answers must repeat, because
    two ends may be almost equally likely.
    """
    plain, streamed = exchanges.values()
    expected, found = ((exchange.content() or "").strip() for exchange in (plain, streamed))
    is_cut = expected.startswith(found) and len(expected) - len(found) > FEW_CHARACTERS
    if is_cut and streamed.finish_reason() != "length":
        require_repetition(context)
    differs = trimmed_texts(plain) != trimmed_texts(streamed) and compare_answers(plain, streamed) == "clear"
    if is_cut or differs:
        yield Finding("/streamed-after/choices/0/delta/content", repr(expected)[:200], repr(found)[:200])


@check("disconnect.others-unhurt", on=in_scenario("disconnect-among-others", "stays-*"))
def others_are_served_when_a_client_leaves(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """A client that disconnects in the middle of a stream does not affect others: their answers are complete."""
    if reason := why_unanswered(exchange):
        yield Finding("/status", "200 and a complete answer", reason)


def _duration_s(exchange: Exchange) -> float:
    return exchange.response.ended_at_s if exchange.response is not None else 0.0


@relation(
    "disconnect.place-freed",
    over=("before-1", "before-2", "after-1", "after-2"),
    unmet=why_unanswered,
)
def place_is_free_after_a_client_left(exchanges: Mapping[str, Exchange], _: Context) -> Iterator[Finding]:
    """After clients disconnect from long answers, a short request takes about as long as before: generation was
    cancelled.

    Reported if the request took more than three times as long as the slowest one before, plus a second, twice in a row:
    a single delay may have any cause.
    """
    before = max(_duration_s(exchanges[name]) for name in ("before-1", "before-2"))
    after = min(_duration_s(exchanges[name]) for name in ("after-1", "after-2"))
    if after > FACTOR * before + GRACE_S:
        yield Finding(
            "/response", f"at most {FACTOR * before + GRACE_S:.2f} s", f"{after:.2f} s; before: {before:.2f} s"
        )
