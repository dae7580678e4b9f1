"""Test that judging ends at its deadline and at an interrupt, with results for what was judged until then."""

from __future__ import annotations

import json
import os
import signal
import threading
import time
from typing import TYPE_CHECKING, Any

import pytest

from conformance import judging_limit
from conformance.judge import judgement
from conformance.judging_limit import INTERRUPTED, JudgingLimit
from conformance.proof.editing.answers import edit_answer
from conformance.record import BudgetLimits
from conformance.run.live_judging import LiveJudging

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from conformance.tests.conftest import CommandResult, Good

STUCK = "answer.id-given"


@pytest.fixture(autouse=True)
def _short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(judging_limit, "LEAST_S", 0.3)


@pytest.fixture
def stuck(monkeypatch: pytest.MonkeyPatch) -> threading.Event:
    """Let the first check that judges an answer never end; the event is set when it has begun.

    What judges during a run is switched off: it would be stuck first.
    """
    monkeypatch.setattr(LiveJudging, "note", lambda *_: None)
    begun = threading.Event()
    run = judgement._run

    def spin(assertion: Any, *arguments: Any) -> Any:
        if assertion.check.id != STUCK:
            return run(assertion, *arguments)
        begun.set()
        while True:
            pass

    monkeypatch.setattr(judgement, "_run", spin)
    return begun


@pytest.fixture
def interrupted(stuck: threading.Event) -> Iterator[None]:
    """Interrupt the process as soon as the check is stuck."""

    def interrupt() -> None:
        if stuck.wait(60):
            os.kill(os.getpid(), signal.SIGINT)

    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # a background job ignores interrupts
    stuck.clear()
    thread = threading.Thread(target=interrupt)
    thread.start()
    yield
    stuck.set()
    thread.join()
    signal.signal(signal.SIGINT, before)


@pytest.fixture(params=[signal.default_int_handler, signal.SIG_IGN], ids=["foreground", "background"])
def handler(request: pytest.FixtureRequest) -> Iterator[Any]:
    """The handler of interrupts: that of Python, or that of a job which a script has started with `&`."""
    before = signal.signal(signal.SIGINT, request.param)
    yield request.param
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("stuck")
def test_a_check_that_never_ends_is_ended_at_the_deadline_and_the_rest_is_not_judged(
    read_good: Callable[[str], Good], handler: Any
) -> None:
    good = read_good("mindie-2.3")
    assertions = good.plan.assertions[:400]
    with JudgingLimit(time.monotonic() + 1, "--max-time 1") as limit:
        judged = judgement.judge(assertions, good.exchanges, good.contract, good.validator, good.model, {}, limit)
    assert len(assertions) == len(judged)
    first = next(at for at, item in enumerate(judged) if item.assertion.check.id == STUCK)
    assert "judging it was ended (--max-time 1)" == judged[first].unobserved
    assert {"not judged (--max-time 1)"} == {item.unobserved for item in judged[first + 1 :]}
    assert not any("judged" in (item.unobserved or "") for item in judged[:first])
    assert handler == signal.getsignal(signal.SIGINT)


def test_a_run_and_a_recorded_run_are_reported_up_to_the_limit_or_the_interrupt(
    chatproof: Callable[..., CommandResult], honest: str, request: pytest.FixtureRequest
) -> None:
    run = ("check", honest, "--dialect", "mindie-2.3", "--only", STUCK)
    assert 0 == chatproof(*run).code
    request.getfixturevalue("stuck")
    late = chatproof("judge", "results.json", "--max-time", "0.1", "--report", "json=late.json")
    assert 4 == late.code, late.stderr
    assert "--max-time 0.1, while judging" == json.loads((late.folder / "late.json").read_text())["run"]["exhausted"]
    request.getfixturevalue("interrupted")
    result = chatproof(*run)
    assert (130, INTERRUPTED) == (result.code, result.results["run"]["exhausted"])


def test_a_signal_of_the_timer_before_its_time_ends_nothing() -> None:
    judged: list[str] = []

    def work() -> None:
        signal.raise_signal(judging_limit.ALARM)
        judged.append("all")

    with JudgingLimit(time.monotonic() + 60, "--max-time 60") as limit:
        limit.run(work)
    assert (["all"], None) == (judged, limit.reason)


def test_sending_leaves_time_for_judging() -> None:
    assert [None, 0.9, 180.0, 1170.0] == [BudgetLimits(max_time_s=at).sending_s for at in (None, 1.0, 200.0, 1200.0)]


def test_a_text_of_one_long_word_is_searched_for_special_tokens_in_linear_time(
    read_good: Callable[[str], Good],
) -> None:
    good = read_good("mindie-2.3")
    (assertion,) = [item for item in good.of("stop.no-special-tokens") if item.scenario.id == "conversation"]
    key = assertion.scenario.id, assertion.step.name

    def lengthen(answer: dict[str, Any]) -> None:
        answer["choices"][0]["message"]["content"] = "a" * 1_000_000

    changed = {key: edit_answer(good.exchanges[key], lengthen)}
    with JudgingLimit(time.monotonic() + 20, "the limit") as limit:  # 90 minutes if it is quadratic
        good_limit = judgement.judge([assertion], changed, good.contract, good.validator, good.model, {}, limit)
    assert (None, ()) == (good_limit[0].unobserved, good_limit[0].findings)
