"""Checks of concurrent requests: each is answered, and with its own answer."""

from __future__ import annotations

from collections import Counter
from datetime import datetime, timedelta
from itertools import pairwise
from typing import TYPE_CHECKING

from conformance.check import Applicability, Context, Finding, NotExercised, NotObserved, check, relation, series
from conformance.judge.acceptance import is_refused
from conformance.judge.answer_fields import read_id
from conformance.judge.applicability import in_scenario, summarize, why_unanswered
from conformance.judge.evidence.answer_difference import compare_answers, is_greedy
from conformance.judge.evidence.load_failures import LOAD_FAILURES
from conformance.judge.token_counts import COUNTS
from openapi.schema.quantity import format_quantity

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from conformance.exchange import Exchange
    from conformance.scenario import Step

ALL = tuple(f"canary-{number}" for number in range(1, 5))
NOT_IMPLEMENTED = 501
MOST_EQUAL = 3
"""The number of equal texts of requests at the same time that chance does not explain."""
CANARIES = Applicability(in_scenario("canaries").applies_to, why_unanswered)


def _canary(step: Step) -> str:
    """Return the last word of the text that a step asks to repeat."""
    messages = (step.body or {}).get("messages") or [{"content": ""}]
    return str(messages[-1]["content"]).rpartition(" ")[2].lower()


@check("parallel.all-answered", on=in_scenario("parallel-*"))
def parallel_requests_are_all_answered(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """Concurrent requests all get a complete answer.

    Whatever fails while other requests are processed is sent again alone at the end of a run. If it is answered then,
    it failed under load, and this is the finding.
    """
    if reason := why_unanswered(exchange):
        again = ", as when it was sent again alone" if exchange.scenario == LOAD_FAILURES else ""
        yield Finding("/status", f"a complete answer{again}", reason)
    elif exchange.finish_reason() is None:
        yield Finding("/choices/0/finish_reason", "a reason", "none")


@check("parallel.no-crosstalk", on=CANARIES)
def answer_holds_nobody_elses_word(exchange: Exchange, context: Context) -> Iterator[Finding]:
    """No answer has a word that only another concurrent request contains."""
    text = " ".join(f"{choice.content} {choice.reasoning}" for choice in exchange.choices.values()).lower()
    own = _canary(context.step)
    for step in context.scenario.steps:
        if (other := _canary(step)) != own and other in text:
            yield Finding("/choices/0/message/content", f"no word of {step.name}", repr(text)[:120])


@check("parallel.own-word-said", on=CANARIES)
def answer_holds_its_own_word(exchange: Exchange, context: Context) -> Iterator[Finding]:
    """An answer has the word that its own request asks to repeat. Whether the model can do that is not judged."""
    if (own := _canary(context.step)) not in (exchange.content() or "").lower():
        yield Finding("/choices/0/message/content", own, repr(exchange.content())[:80])


@relation("parallel.ids-differ", over=ALL, unmet=why_unanswered)
def answers_at_the_same_time_have_ids_of_their_own(exchanges: Mapping[str, Exchange], _: Context) -> Iterator[Finding]:
    """Concurrent answers have different ids."""
    ids = [identity for exchange in exchanges.values() if (identity := read_id(exchange))]
    if not ids:
        raise NotExercised("the answers have no id")
    if len(set(ids)) < len(ids):
        yield Finding("/id", format_quantity(len(ids), "id"), f"{len(set(ids))}: {sorted(set(ids))}"[:120])


@relation("parallel.prompts-counted-apart", over=("canary-3", "canary-4"), unmet=why_unanswered)
def same_prompt_counts_the_same(exchanges: Mapping[str, Exchange], _: Context) -> Iterator[Finding]:
    """The same prompt counts the same number of tokens in two concurrent requests: no count includes another's."""
    counts = [(exchange.usage or {}).get("prompt_tokens") for exchange in exchanges.values()]
    if None in counts:
        raise NotExercised("the answers have no usage")
    if counts[0] != counts[1]:
        yield Finding("/usage/prompt_tokens", f"{counts[0]}", f"{counts[1]}")


@relation("parallel.served-together", over=ALL, unmet=why_unanswered)
def answers_overlap(exchanges: Mapping[str, Exchange], _: Context) -> Iterator[Finding]:
    """Concurrent requests are processed at the same time: some answer begins before another has ended."""
    spans = []
    for exchange in exchanges.values():
        if exchange.response is not None and exchange.is_stream:
            began = datetime.fromisoformat(exchange.started_at)
            first_s, last_s = exchange.response.headers_at_s, exchange.response.ended_at_s
            spans.append((began + timedelta(seconds=first_s), began + timedelta(seconds=last_s)))
    spans.sort()
    if len(spans) > 1 and all(later[0] >= earlier[1] for earlier, later in pairwise(spans)):
        yield Finding("/response", "overlapping answers", "one after another")


@check("parallel.refusals-hurt-nobody", on=in_scenario("mixed-parallel", "good-*"))
def good_requests_are_answered_beside_bad_ones(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """Valid requests are answered while invalid ones are refused at the same time."""
    if reason := why_unanswered(exchange):
        yield Finding("/status", "200 and a complete answer", reason)


@check("parallel.models-reached", on=in_scenario("mixed-parallel", "models-*"))
def list_of_models_is_reached_beside_chat_requests(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """A request for the list of models does not fail while chat requests are processed: load balancers and clients ask
    for it at any time. A server without such a list refuses it.
    """
    if exchange.status is None or (exchange.status >= 500 and exchange.status != NOT_IMPLEMENTED):
        yield Finding("/status", "the list of models, or 4xx", summarize(exchange))


@check("parallel.bad-ones-refused", on=in_scenario("mixed-parallel", "bad-*"))
def bad_requests_are_refused_beside_good_ones(exchange: Exchange, context: Context) -> Iterator[Finding]:
    """Invalid requests are refused while valid ones are answered at the same time."""
    if not is_refused(exchange, context.contract):
        yield Finding("/status", "4xx", summarize(exchange))


def _in_crowd(exchanges: Mapping[str, Exchange], context: Context) -> Iterator[tuple[str, Exchange, list[Exchange]]]:
    """Yield each request of the crowd whose answers repeat when it is sent alone.

    Each item: its name, its answer alone, and its answers in the crowd.
    """
    steps = [step for step in context.scenario.steps if step.name in exchanges]
    answered = {step.name for step in steps if why_unanswered(exchanges[step.name]) is None}
    if not answered:
        raise NotObserved("no request of the crowd was answered")
    for part in dict.fromkeys(step.part for step in steps):
        own = [step for step in steps if step.part == part and step.name in answered]
        alone = [exchanges[step.name] for step in own if not step.crowd]
        if len(alone) > 1 and all(compare_answers(alone[0], other) == "none" for other in alone[1:]):
            yield part, alone[0], [exchanges[step.name] for step in own if step.crowd]


@series("parallel.crowd-as-alone", scenario="parallel-crowd")
def answers_in_a_crowd_are_those_given_alone(exchanges: Mapping[str, Exchange], context: Context) -> Iterator[Finding]:
    """A request has the same answer in a crowd of concurrent requests as alone, if it has the same answer twice alone.

    Reported if rounding cannot explain it: most answers to one request clearly differ, or those to two greedy requests
    differ at all.
    """
    compared, clear, differing = 0, [], []
    for part, alone, crowd in _in_crowd(exchanges, context):
        differences = [compare_answers(alone, other) for other in crowd]
        compared += len(crowd)
        odd = next((other for other in crowd if compare_answers(alone, other) != "none"), None)
        finding = Finding(f"/{part}", repr(alone.content())[:200], repr(odd.content() if odd else None)[:200])
        if 2 * differences.count("clear") > len(differences):
            clear.append(finding)
        elif odd is not None and is_greedy(alone):
            differing.append(finding)
    if not compared:
        raise NotExercised("no request has the same answer twice when it is sent alone")
    yield from clear
    if len(differing) > 1:
        yield from differing


@series("parallel.crowd-counted-as-alone", scenario="parallel-crowd")
def tokens_in_a_crowd_are_counted_as_alone(exchanges: Mapping[str, Exchange], context: Context) -> Iterator[Finding]:
    """Usage of a request counts the same tokens in a crowd of concurrent requests as alone, for the same answer."""
    compared = False
    for part, alone, crowd in _in_crowd(exchanges, context):
        same = [other for other in crowd if compare_answers(alone, other) == "none"]
        counts = [[(answer.usage or {}).get(name) for name in COUNTS] for answer in (alone, *same)]
        if counts[0] == [None, None, None]:
            continue
        compared = True
        if odd := next((count for count in counts if count != counts[0]), None):
            yield Finding(f"/{part}/usage", f"{counts[0]} ({', '.join(COUNTS)})", f"{odd}")
    if not compared:
        raise NotExercised("no answer in the crowd can be compared by its usage")


@series("parallel.crowd-ids-differ", scenario="parallel-crowd")
def answers_in_a_crowd_have_ids_of_their_own(exchanges: Mapping[str, Exchange], _: Context) -> Iterator[Finding]:
    """Each answer in a crowd of concurrent requests has an id of its own."""
    ids = [identity for exchange in exchanges.values() if (identity := read_id(exchange))]
    if not ids:
        raise NotExercised("the answers have no id")
    if len(set(ids)) < len(ids):
        repeated = sorted(identifier for identifier in set(ids) if ids.count(identifier) > 1)
        yield Finding("/id", format_quantity(len(ids), "id"), f"{len(set(ids))}; repeated: {', '.join(repeated)}"[:200])


@series("parallel.equal-requests-drawn-apart", scenario="parallel-equal")
def equal_requests_are_answered_each_for_itself(
    exchanges: Mapping[str, Exchange], context: Context
) -> Iterator[Finding]:
    """Equal requests without a seed that are sent at the same time get different answers at a high temperature.

    Not judged if requests that are sent one after another get the same one, or one that comes again at the same time:
    then the model has few answers to give.
    """
    texts: dict[bool, list[str]] = {True: [], False: []}
    for step in context.scenario.steps:
        if step.name in exchanges and why_unanswered(exchanges[step.name]) is None:
            texts[step.crowd].append(exchanges[step.name].content() or "")
    if len(texts[False]) < 2 or len(set(texts[False])) == 1:
        raise NotExercised("the same request has the same answer, or none, when it is sent alone")
    if not set(texts[True]).isdisjoint(texts[False]):
        raise NotExercised("an answer to a request that is sent alone comes again, so the model has few to give")
    text, number = Counter(texts[True]).most_common(1)[0] if texts[True] else ("", 0)
    if number >= MOST_EQUAL:
        yield Finding("/choices/0/message/content", "another text for each request", f"{number} times {text!r}"[:200])
