"""Name the conditions under which checks apply: what the step requests, and what the exchange must show."""

from __future__ import annotations

import re
from fnmatch import fnmatchcase, translate
from typing import TYPE_CHECKING, Any, Final

from conformance.check import Applicability, NotExercised, NotObserved, no_precondition
from conformance.exchange import SWITCHED

if TYPE_CHECKING:
    from collections.abc import Mapping

    from conformance.check import Context
    from conformance.exchange import Exchange
    from conformance.scenario import Scenario, Step
    from openapi.contract.contract import Contract

CHOICES_IN_STREAMS: Final = "choices-in-streams"
"""The rule of a dialect by which a server may refuse several choices in a stream."""


def summarize(exchange: Exchange) -> str:
    """Return the status and the start of the body, or why the response is missing."""
    if exchange.response is None:
        return f"no response: {exchange.failure.detail}" if exchange.failure else "no response"
    body = " ".join(exchange.text[:200].split())
    excerpt = f": {body[:120]}{'...' if len(body) > 120 else ''}" if body else ", empty body"
    cut = f" (cut: {exchange.failure.detail})" if exchange.failure else ""
    return f"{exchange.status}{excerpt}{cut}"


def summarize_with_type(exchange: Exchange) -> str:
    """Return the content type, the status and the start of the body."""
    return f"{exchange.content_type or 'no content type'}, {summarize(exchange)}"


def why_unanswered(exchange: Exchange) -> str | None:
    """Return why the exchange holds no complete answer, or None if it holds one."""
    return None if exchange.succeeded else f"{exchange.id} was not answered ({summarize(exchange)})"


def require_choices(exchanges: Mapping[str, Exchange], context: Context) -> None:
    """Raise NotObserved unless all are answered; NotExercised if a stream is refused for what its document allows."""
    for name, exchange in exchanges.items():
        if (
            name == "streamed-choices"
            and CHOICES_IN_STREAMS in context.contract.rules
            and not why_not_refused(exchange)
        ):
            raise NotExercised("the server refuses several choices in a stream, as the document allows")
        if reason := why_unanswered(exchange):
            raise NotObserved(reason)


def why_not_streamed(exchange: Exchange) -> str | None:
    """Return why the exchange holds no complete stream, or None if it holds one."""
    if exchange.failure is not None and exchange.failure.kind == "disconnected-by-us":
        return f"{exchange.id} was cancelled on purpose"
    if exchange.status is None or not 200 <= exchange.status < 300 or not exchange.complete:
        return f"{exchange.id} was not answered ({summarize(exchange)})"
    return None if exchange.is_stream else f"{exchange.id} was not answered with a stream"


def why_not_refused(exchange: Exchange) -> str | None:
    """Return why the exchange holds no refusal, or None if the status is 400 or above."""
    refused = exchange.status is not None and exchange.status >= 400
    return None if refused else f"{exchange.id} was not refused ({summarize(exchange)})"


def why_no_response(exchange: Exchange) -> str | None:
    """Return why the exchange holds no HTTP response, or None if it holds one."""
    if exchange.status == SWITCHED:
        return f"{exchange.id} switched to another protocol"
    return None if exchange.response is not None else f"{exchange.id} got no response ({summarize(exchange)})"


def _expects_answer(scenario: Scenario, step: Step) -> bool:
    """Tell whether the request may be answered, and the contract says how.

    If a server answers a wrong value, no document says what its answer is. Only the requirement of the value judges it.
    """
    subject = scenario.subject_of(step)
    return (
        step.targets_chat
        and step.expect in ("answer", "either")
        and step.stop_after_events is None
        and (subject is None or subject.expect == "accept")
    )


def _expects_plain(scenario: Scenario, step: Step, _contract: Contract) -> bool:
    return _expects_answer(scenario, step) and not step.streams


def _expects_stream(scenario: Scenario, step: Step, _contract: Contract) -> bool:
    return _expects_answer(scenario, step) and step.streams


def _expects_any(scenario: Scenario, step: Step, _contract: Contract) -> bool:
    return _expects_answer(scenario, step)


def _expects_refusal(_scenario: Scenario, step: Step, _contract: Contract) -> bool:
    return step.targets_chat and step.expect in ("refusal", "either")


def is_generated(scenario: Scenario, step: Step) -> bool:
    """Tell whether the step tests a value of a parameter, so that its answer may be meaningless or refused."""
    return scenario.subject_of(step) is not None


def _parameter(step: Step, name: str) -> Any:
    """Return a parameter of the request's body, or None if it is missing."""
    return (step.body or {}).get(name)


def requests_several(step: Step) -> bool:
    """Tell whether a request asks for more than one choice."""
    return type(n := _parameter(step, "n")) is int and n > 1


def requests_logprobs(step: Step) -> bool:
    """Tell whether a request asks for log-probabilities: by `logprobs`, or by `top_logprobs`, which implies it."""
    number = _parameter(step, "top_logprobs")
    return _parameter(step, "logprobs") is True or (
        "logprobs" not in (step.body or {}) and type(number) is int and number > 0
    )


REFUSAL_OF_VALUE = Applicability(  # of one invalid value of one parameter
    lambda scenario, step, contract: (
        _expects_refusal(scenario, step, contract)
        and scenario.subject is not None
        and scenario.subject.expect == "reject"
    ),
    why_not_refused,
)
PLAIN_ANSWER = Applicability(_expects_plain, why_unanswered)
STREAM = Applicability(_expects_stream, why_not_streamed)
STREAMED_ANSWER = Applicability(
    _expects_stream, lambda exchange: why_not_streamed(exchange) or why_unanswered(exchange)
)
ANSWER = Applicability(_expects_any, why_unanswered)
SEVERAL_CHOICES = Applicability(
    lambda scenario, step, contract: _expects_plain(scenario, step, contract) and requests_several(step),
    why_unanswered,
)
SEVERAL_STREAMED = Applicability(
    lambda scenario, step, contract: _expects_stream(scenario, step, contract) and requests_several(step),
    STREAMED_ANSWER.unmet,
)
LOGPROBS = Applicability(
    lambda scenario, step, contract: _expects_plain(scenario, step, contract) and requests_logprobs(step),
    why_unanswered,
)
ENDS = ("stop", "stop_token_ids", "tools", "functions", "repetition_detection", "response_format", "structured_outputs")


def _may_end(step: Step) -> bool:
    """Tell whether something besides the end-of-sequence token and a limit may end the answer."""
    harmless = {"tools": ("tool_choice", "none"), "response_format": ("response_format", {"type": "text"})}
    ends = [name for name in ENDS if _parameter(step, name)]
    return bool(step.stop_from) or any(
        name not in harmless or _parameter(step, harmless[name][0]) != harmless[name][1] for name in ends
    )


UNENDING = Applicability(  # only a limit ends the answer
    lambda scenario, step, contract: (
        _expects_any(scenario, step, contract) and _parameter(step, "ignore_eos") is True and not _may_end(step)
    ),
    why_unanswered,
)
STOPPED_BY_TEXT = Applicability(  # a stop string that occurs in the answer ends it
    lambda scenario, step, contract: (
        _expects_any(scenario, step, contract)
        and (
            step.name == "halted-choices" or (fnmatchcase(scenario.id, "stop-*") and fnmatchcase(step.name, "stopped*"))
        )
    ),
    why_unanswered,
)
TOOLS_FORBIDDEN = Applicability(
    lambda scenario, step, contract: (
        _expects_any(scenario, step, contract)
        and _parameter(step, "tool_choice") == "none"
        and bool(_parameter(step, "tools"))
    ),
    why_unanswered,
)
REFUSAL = Applicability(_expects_refusal, why_not_refused)
EXPECTED_ANSWER = Applicability(  # whatever the response is
    lambda scenario, step, contract: (
        _expects_any(scenario, step, contract) and step.expect == "answer" and not is_generated(scenario, step)
    )
)
POSSIBLE_ANSWER = Applicability(  # whatever the response is, also if the request may be refused
    lambda scenario, step, contract: _expects_any(scenario, step, contract) and not is_generated(scenario, step)
)
EXPECTED_STREAM = Applicability(
    lambda scenario, step, contract: (
        _expects_stream(scenario, step, contract) and step.expect == "answer" and not is_generated(scenario, step)
    )
)
ANYTHING = Applicability(
    lambda _scenario, step, _contract: step.stop_after_events is None,
    lambda exchange: None if exchange.response or exchange.failure else f"{exchange.id} got no response",
)
RESPONSE = Applicability(
    lambda scenario, step, contract: not is_generated(scenario, step) and ANYTHING.applies_to(scenario, step, contract),
    why_no_response,
)
CHAT = Applicability(
    lambda scenario, step, contract: step.targets_chat and RESPONSE.applies_to(scenario, step, contract),
    why_no_response,
)
SUBJECT = Applicability(lambda scenario, _step, _contract: scenario.subject is not None)


def not_generated(applicability: Applicability) -> Applicability:
    """Exclude generated scenarios: their parameter values lead to meaningless answers."""
    return Applicability(
        lambda scenario, step, contract: (
            not is_generated(scenario, step) and applicability.applies_to(scenario, step, contract)
        ),
        applicability.unmet,
        applicability.in_scenario,
    )


def at_temperature_0(applicability: Applicability) -> Applicability:
    """Include greedy requests only: a model that samples may well produce part of a character.

    A server without `temperature` samples whatever the request says.
    """
    return Applicability(
        lambda scenario, step, contract: (
            "temperature" in contract.parameters
            and _parameter(step, "temperature") == 0
            and applicability.applies_to(scenario, step, contract)
        ),
        applicability.unmet,
        applicability.in_scenario,
    )


def in_scenario(pattern: str, step_pattern: str = "*", *, refused: bool = False) -> Applicability:
    """Include the steps of scenarios whose id matches a glob. refused: only if the server refused the request."""
    matches_id, matches_name = (re.compile(translate(glob)).match for glob in (pattern, step_pattern))

    def applies_to(scenario: Scenario, step: Step, _contract: Contract) -> bool:
        return matches_id(scenario.id) is not None and matches_name(step.judged_as) is not None

    unmet = why_not_refused if refused else no_precondition
    return Applicability(applies_to, unmet, lambda identity: matches_id(identity) is not None)


def either(first: Applicability, second: Applicability) -> Applicability:
    """Include the steps to which one of two conditions applies; the first one says what the exchange must show."""
    return Applicability(
        lambda *place: first.applies_to(*place) or second.applies_to(*place),
        first.unmet,
        lambda identity: first.in_scenario(identity) or second.in_scenario(identity),
    )
