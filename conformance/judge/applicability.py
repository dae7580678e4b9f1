"""Occasions: when checks apply, by what was sent and by what came back."""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any

from conformance.check import Occasion
from conformance.exchange import SWITCHED

if TYPE_CHECKING:
    from conformance.exchange import Exchange
    from conformance.scenario import Scenario, Step
    from openapi.contract.contract import Contract


def shown(exchange: Exchange) -> str:
    """What came back, in a few words: the status with the start of the body, or why there is none."""
    if exchange.response is None:
        return f"no answer: {exchange.failure.detail}" if exchange.failure else "no answer"
    body = " ".join(exchange.text[:200].split())
    excerpt = f": {body[:120]}{'...' if len(body) > 120 else ''}" if body else ", empty body"
    cut = f" (cut: {exchange.failure.detail})" if exchange.failure else ""
    return f"{exchange.status}{excerpt}{cut}"


def unsuccessful(exchange: Exchange) -> str | None:
    """Why the exchange holds no complete answer; None when it does."""
    return None if exchange.succeeded else f"{exchange.id} was not answered ({shown(exchange)})"


def refuses_key(exchange: Exchange, contract: Contract) -> bool:
    """Whether the body carries one of the dialect's codes for a missing or wrong key."""
    rows = (contract.errors.kinds.get(kind) for kind in ("unauthorized", "invalid_key"))
    codes = {row.code for row in rows if row is not None and row.code is not None}
    return isinstance(exchange.json, dict) and exchange.json.get("code") in codes


def _not_streamed(exchange: Exchange) -> str | None:
    if exchange.failure is not None and exchange.failure.kind == "disconnected-by-us":
        return f"{exchange.id} was left on purpose"
    if exchange.status is None or not 200 <= exchange.status < 300 or not exchange.complete:
        return f"{exchange.id} was not answered ({shown(exchange)})"
    return None if exchange.is_stream else f"{exchange.id} was not answered with a stream"


def _not_refused(exchange: Exchange) -> str | None:
    refused = exchange.status is not None and exchange.status >= 400
    return None if refused else f"{exchange.id} was not refused ({shown(exchange)})"


def _awaits_plain(_scenario: Scenario, step: Step, _contract: Contract) -> bool:
    return step.chats and step.expect in ("answer", "either") and not step.streams and step.stop_after_events is None


def _awaits_stream(_scenario: Scenario, step: Step, _contract: Contract) -> bool:
    return step.chats and step.expect in ("answer", "either") and step.streams and step.stop_after_events is None


def _awaits_any(scenario: Scenario, step: Step, contract: Contract) -> bool:
    return _awaits_plain(scenario, step, contract) or _awaits_stream(scenario, step, contract)


def _member(step: Step, name: str) -> Any:
    """A member of the request's body; None where there is none."""
    return (step.body or {}).get(name)


def _may_be_asked(scenario: Scenario, step: Step, contract: Contract) -> bool:
    """A plain request that the contract takes: what it asks for must come."""
    taken = scenario.subject is None or scenario.subject.expect == "accept"
    return taken and _awaits_plain(scenario, step, contract)


def asks_for_logprobs(step: Step) -> bool:
    """Whether a request asks for log-probabilities: by name, or by a number of alternatives, which turns them on."""
    number = _member(step, "top_logprobs")
    return _member(step, "logprobs") is True or (
        "logprobs" not in (step.body or {}) and type(number) is int and number > 0
    )


def _awaits_refusal(_scenario: Scenario, step: Step, _contract: Contract) -> bool:
    return step.chats and step.expect in ("refusal", "either")


REFUSAL_OF_VALUE = Occasion(  # one bad value of one parameter
    lambda scenario, step, contract: (
        _awaits_refusal(scenario, step, contract)
        and scenario.subject is not None
        and scenario.subject.expect == "reject"
    ),
    _not_refused,
)
PLAIN_ANSWER = Occasion(_awaits_plain, unsuccessful)
STREAM = Occasion(_awaits_stream, _not_streamed)
STREAMED_ANSWER = Occasion(_awaits_stream, lambda exchange: _not_streamed(exchange) or unsuccessful(exchange))
ANSWER = Occasion(_awaits_any, unsuccessful)
SEVERAL_CHOICES = Occasion(
    lambda scenario, step, contract: (
        _may_be_asked(scenario, step, contract) and type(n := _member(step, "n")) is int and n > 1
    ),
    unsuccessful,
)
SEVERAL_STREAMED = Occasion(
    lambda scenario, step, contract: (
        (scenario.subject is None or scenario.subject.expect == "accept")
        and _awaits_stream(scenario, step, contract)
        and type(n := _member(step, "n")) is int
        and n > 1
    ),
    lambda exchange: _not_streamed(exchange) or unsuccessful(exchange),
)
LOGPROBS = Occasion(
    lambda scenario, step, contract: _may_be_asked(scenario, step, contract) and asks_for_logprobs(step), unsuccessful
)
TOOLS_FORBIDDEN = Occasion(
    lambda scenario, step, contract: (
        _awaits_any(scenario, step, contract)
        and _member(step, "tool_choice") == "none"
        and bool(_member(step, "tools"))
    ),
    unsuccessful,
)
REFUSAL = Occasion(_awaits_refusal, _not_refused)
EXPECTED_ANSWER = Occasion(  # whatever came back
    lambda scenario, step, contract: (
        _awaits_any(scenario, step, contract) and step.expect == "answer" and scenario.subject is None
    )
)
EXPECTED_STREAM = Occasion(
    lambda scenario, step, contract: (
        _awaits_stream(scenario, step, contract) and step.expect == "answer" and scenario.subject is None
    )
)
ANYTHING = Occasion(
    lambda _scenario, step, _contract: step.stop_after_events is None,
    lambda exchange: None if exchange.response or exchange.failure else f"{exchange.id} got no answer",
)


def _no_response(exchange: Exchange) -> str | None:
    if exchange.status == SWITCHED:
        return f"{exchange.id} went on in another protocol"
    return None if exchange.response is not None else f"{exchange.id} got no answer ({shown(exchange)})"


RESPONSE = Occasion(
    lambda found, step, contract: found.subject is None and ANYTHING.fits(found, step, contract), _no_response
)
CHAT = Occasion(lambda found, step, contract: step.chats and RESPONSE.fits(found, step, contract), _no_response)
SUBJECT = Occasion(lambda scenario, _step, _contract: scenario.subject is not None)


def written(occasion: Occasion) -> Occasion:
    """The same, but not on generated scenarios: their values make answers that mean nothing."""
    return Occasion(
        lambda found, step, contract: found.subject is None and occasion.fits(found, step, contract), occasion.lacks
    )


def greedy(occasion: Occasion) -> Occasion:
    """The same, but only at temperature 0: a model that samples may well say half a character."""
    return Occasion(
        lambda found, step, contract: _member(step, "temperature") == 0 and occasion.fits(found, step, contract),
        occasion.lacks,
    )


def scenario(pattern: str, step: str = "*", *, refused: bool = False) -> Occasion:
    """The steps of the scenarios whose id matches a glob; with `refused`, only when the server refused."""

    def fits(found: Scenario, each: Step, _contract: Contract) -> bool:
        return fnmatchcase(found.id, pattern) and fnmatchcase(each.name, step)

    return Occasion(fits, _not_refused) if refused else Occasion(fits)
