"""Checks of whether the server calls tools: on request, only those offered, and in conversations with earlier calls."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from conformance.check import Applicability, Context, Finding, NotExercised, NotObserved, check
from conformance.judge.acceptance import is_refused
from conformance.judge.applicability import (
    ANSWER,
    PLAIN_ANSWER,
    TOOLS_FORBIDDEN,
    either,
    in_scenario,
    not_generated,
    summarize,
    why_unanswered,
)
from conformance.plan.scenarios.combinations.crowds import CROWDS
from conformance.plan.scenarios.combinations.tool_conversations import FUNCTIONS, HISTORY
from openapi.stream.accumulated_choice import kind_of_call

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from conformance.exchange import Exchange
    from openapi.stream.accumulated_choice import AccumulatedChoice

BRACKETS: Final = frozenset("<[{|")
LONG_PROSE: Final = 60
"""Characters of text after which a model that has to call a tool does not begin a call any more."""
FORCED = ("custom-tools", "tool-choices", "tool-schemas", "tools-without-parameters", FUNCTIONS)
"""The scenarios whose requests force a call."""
UNKNOWN = "unknown"
"""The step whose tool_choice names a function that is not offered."""
MARKERS = ("<tool_call>", "</tool_call>", "<|tool_call", "<function=", "[TOOL_CALLS]", "<｜tool▁call")


def with_tools(applicability: Applicability) -> Applicability:
    """Include written requests that offer tools."""
    return Applicability(
        lambda scenario, step, contract: (
            bool((step.body or {}).get("tools")) and not_generated(applicability).applies_to(scenario, step, contract)
        ),
        why_unanswered,
    )


OFFERED = with_tools(ANSWER)


NOT_OFFERED = Applicability(
    lambda scenario, step, contract: (
        not {"tools", "functions"} & set(step.body or {}) and not_generated(ANSWER).applies_to(scenario, step, contract)
    ),
    why_unanswered,
)


@check("tools.none-calls-nothing", on=TOOLS_FORBIDDEN)
def none_calls_no_tool(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """With the tool_choice "none" the model calls no tool, although tools are offered."""
    for index, choice in exchange.choices.items():
        if choice.tool_calls:
            names = ", ".join(call.name for call in choice.tool_calls)
            yield Finding(f"/choices/{index}/message/tool_calls", "no call", f"calls of {names}"[:120])


@check("tools.unoffered-not-called", on=NOT_OFFERED)
def nothing_is_called_that_was_not_offered(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """Without tools in the request no tool is called."""
    for index, choice in exchange.choices.items():
        for call in choice.tool_calls:
            yield Finding(f"/choices/{index}/message/tool_calls", "no call", f"a call of {call.name}"[:120])


def _demands(choice: Callable[[object], bool]) -> Applicability:
    """Include the steps of scenarios about tools whose tool_choice demands a call of a function that is offered."""
    return Applicability(
        lambda scenario, step, _contract: (
            _may_force(scenario.id) and step.name != UNKNOWN and choice((step.body or {}).get("tool_choice"))
        ),
        in_scenario=_may_force,
    )


def _may_be_cut(choice: AccumulatedChoice) -> bool:
    """Return whether a choice without calls may have been cut off before its call: not in the middle of prose.

    A call, or reasoning that the server does not split off, begins with a bracket.
    """
    prose = choice.content and not choice.reasoning and BRACKETS.isdisjoint(choice.content)
    return choice.finish_reason == "length" and not (prose and len(choice.content) >= LONG_PROSE)


def require_answer(exchange: Exchange, context: Context) -> None:
    """Raise NotObserved if a request is not answered, and NotExercised if it is refused and may be."""
    if context.step.expect == "either" and exchange.status is not None and 400 <= exchange.status < 500:
        raise NotExercised("this request may be refused")
    if reason := why_unanswered(exchange):
        raise NotObserved(reason)


def _may_force(identity: str) -> bool:
    return identity in FORCED or identity.startswith(CROWDS)


@check("tools.required-calls", on=_demands(lambda choice: choice == "required"))
def required_calls_a_tool(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """With the tool_choice "required" the model calls at least one tool, whatever the question is."""
    if reason := why_unanswered(exchange):
        raise NotObserved(reason)
    for index, choice in exchange.choices.items():
        if not choice.tool_calls and not _may_be_cut(choice):
            yield Finding(f"/choices/{index}/message/tool_calls", "a call", f"the text {choice.content!r}"[:120])


@check("tools.named-is-called", on=_demands(lambda choice: isinstance(choice, dict) and bool(kind_of_call(choice))))
def named_tool_is_called(exchange: Exchange, context: Context) -> Iterator[Finding]:
    """A tool_choice that names a tool makes the model call this tool and no other."""
    require_answer(exchange, context)
    choice = exchange.request_json["tool_choice"]
    required = choice[kind_of_call(choice)]["name"]
    for index, choice in exchange.choices.items():
        names = [call.name for call in choice.tool_calls]
        if (not names and not _may_be_cut(choice)) or any(name != required for name in names):
            yield Finding(f"/choices/{index}/message/tool_calls", f"calls of {required}", f"calls of {names}"[:120])


@check("tools.allowed-are-called", on=_demands(lambda choice: isinstance(choice, dict) and "allowed_tools" in choice))
def allowed_tools_are_called(exchange: Exchange, context: Context) -> Iterator[Finding]:
    """A tool_choice that allows some of the tools, and requires a call, makes the model call these and no others."""
    require_answer(exchange, context)
    allowed = [tool["function"]["name"] for tool in exchange.request_json["tool_choice"]["allowed_tools"]["tools"]]
    for index, choice in exchange.choices.items():
        names = [call.name for call in choice.tool_calls]
        if (not names and choice.finish_reason != "length") or not {*names} <= {*allowed}:
            expected = f"calls of {' or '.join(allowed)}"
            yield Finding(f"/choices/{index}/message/tool_calls", expected[:120], f"calls of {names}"[:120])


@check("tools.unknown-choice-refused", on=in_scenario("tool-choices", UNKNOWN))
def choice_of_an_unknown_tool_is_refused(exchange: Exchange, context: Context) -> Iterator[Finding]:
    """A tool_choice that names a function which the request does not offer is refused, and never ignored.

    A call of the function that was named would also do as the request says.
    """
    if is_refused(exchange, context.contract):
        return
    required = exchange.request_json["tool_choice"]["function"]["name"]
    choices = exchange.choices.values() if exchange.succeeded else ()
    names = [call.name for choice in choices for call in choice.tool_calls]
    if not names or any(name != required for name in names):
        yield Finding("/status", f"4xx, or a call of {required}", f"calls of {names}" if names else summarize(exchange))


@check("tools.no-markers-in-text", on=OFFERED)
def markers_of_calls_do_not_leak(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """The markers with which a model writes a call are not in the text: calls are only in tool_calls."""
    for index, choice in exchange.choices.items():
        for marker in MARKERS:
            if marker in choice.content:
                yield Finding(f"/choices/{index}/message/content", f"no {marker}", repr(choice.content)[:200])
                break


@check("tools.one-at-a-time", on=in_scenario("tools-called-twice", "one-at-a-time*"))
def parallel_tool_calls_false_calls_one(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """With parallel_tool_calls false an answer has at most one call."""
    if reason := why_unanswered(exchange):
        raise NotObserved(reason)
    for index, choice in exchange.choices.items():
        if len(choice.tool_calls) > 1:
            yield Finding(f"/choices/{index}/message/tool_calls", "at most one call", f"{len(choice.tool_calls)}")


@check(
    "tools.history-answered",
    on=either(in_scenario("tools-history", "answered*"), in_scenario(f"{HISTORY}*")),
)
def calls_of_the_past_are_answered(exchange: Exchange, context: Context) -> Iterator[Finding]:
    """A conversation with tool calls and their results is answered, whatever the results are and also without tools."""
    if context.step.expect == "either" and exchange.status is not None and 400 <= exchange.status < 500:
        raise NotExercised("this form of the conversation may be refused")
    if reason := why_unanswered(exchange):
        yield Finding("/status", "200 and an answer", reason)
    elif context.scenario.id.startswith(HISTORY):
        return  # the few tokens of the answer may be the beginning of a call
    elif not any(choice.content or choice.reasoning or choice.tool_calls for choice in exchange.choices.values()):
        yield Finding("/choices/0/message/content", "content or a call", "neither")


@check("tools.bad-history-survived", on=in_scenario("tools-history", "bad-*"))
def bad_history_is_no_failure_of_the_server(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """A result without its call, or a call whose arguments are not JSON, is refused or answered without a 5xx."""
    if exchange.status is None or exchange.status >= 500:
        yield Finding("/status", "an answer, or 4xx", summarize(exchange))


@check("tools.text-or-call", on=with_tools(PLAIN_ANSWER))
def answer_holds_a_text_or_a_call(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """An answer to a request with tools has content or a call: nothing that the model generated is lost in between.

    A stop string may come first.
    """
    may_be_empty = {"length", "stop"} if (exchange.request_json or {}).get("stop") else {"length"}
    for index, choice in exchange.choices.items():
        if choice.finish_reason not in may_be_empty and not (choice.content or choice.tool_calls or choice.reasoning):
            yield Finding(f"/choices/{index}/message/content", "content or a call", "neither")
