"""A recorded run is judged offline to the same outcomes, and one of its requests can be sent again."""

from __future__ import annotations

import gzip
import json
import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from conformance.errors import UsageError
from conformance.proof.editing.answers import edit_answer, edit_text
from conformance.replay import rejudge, resend, verification
from conformance.report import results
from conformance.report.results_file import read_results
from conformance.report.writers.evidence import Reproduction
from conformance.run.drafting import draft
from conformance.tests.faulty_proxy import FaultyProxy, Reply, on_replies

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from conformance.exchange import Exchange
    from conformance.tests.conftest import CommandResult, Good
    from conformance.tests.faulty_proxy import Sent

GOODS = ["mindie-2.3", "openai"]  # results are handled in the same way for every dialect


WRITTEN: dict[tuple[str, str, bool], str] = {}
"""The results of runs with findings, which tests share, by dialect, depth and strictness."""


def broken(good: Good, *, strict: bool = False) -> dict[str, Any]:
    """The results of a run with findings, as read from a file."""
    key = (good.contract.name, good.depth, strict)
    if key not in WRITTEN:
        WRITTEN[key] = write_broken(good, strict=strict)
    content: dict[str, Any] = json.loads(WRITTEN[key])
    return content


def write_broken(good: Good, *, strict: bool) -> str:
    """Judge a run with findings and return its results file."""

    def break_(exchange: Exchange) -> Exchange:
        is_answer = isinstance(exchange.json, dict) and "choices" in exchange.json
        return edit_answer(exchange, lambda answer: answer.update(object="x")) if is_answer else exchange

    outcome = good.outcome(good.changed(break_), strict=strict)
    return "".join(results.to_json(outcome.results))


@pytest.mark.takes_turns
def test_a_recorded_run_is_judged_to_the_same_outcomes(good: Good) -> None:
    content = broken(good)
    again = rejudge.judge_again(content)
    assert again.outcome.results["requirements"] == content["requirements"]
    assert again.outcome.results["counts"]["FAIL"]
    assert content["target"] == again.outcome.results["target"]
    assert again.unrecorded == ()


@pytest.mark.takes_turns
def test_a_quick_run_is_judged_again_by_what_it_sent(good: Good) -> None:
    content = json.loads(good.results)
    plan = draft(good.contract, good.declaration, depth="quick")
    sent = {(scenario.id, step.name) for scenario in plan.scenarios for step in scenario.steps}
    content["run"]["depth"] = "quick"
    content["exchanges"] = [item for item in content["exchanges"] if (item["scenario"], item["step"]) in sent]
    content["missing"] = []
    again = rejudge.judge_again(content).outcome
    assert ("conformant", 0) == (again.report.verdict, again.report.counts["UNTESTABLE"])
    assert {item.requirement.id for item in plan.assertions} <= {row.id for row in again.report.rows}


def test_what_a_quick_run_did_not_send_is_listed_and_fails_nothing(
    read_good: Callable[[str], Good], chatproof: Callable[..., CommandResult], tmp_path: Path
) -> None:
    good = read_good("mindie-2.3")
    content = json.loads(good.results)
    plan = draft(good.contract, good.declaration, depth="quick")
    sent = {(scenario.id, step.name) for scenario in plan.scenarios for step in scenario.steps}
    content["run"]["depth"] = "quick"
    content["exchanges"] = [item for item in content["exchanges"] if (item["scenario"], item["step"]) in sent]
    content["missing"] = []
    for topic in ("effects", "stream", "tools", "relations"):
        again = rejudge.judge_again(content, topics=(topic,))
        selected = {item.requirement.id for item in draft(good.contract, good.declaration, topics=(topic,)).assertions}
        judged = {row.id for row in again.outcome.report.rows}
        assert (0, True) == (again.outcome.report.counts["UNTESTABLE"], set(again.not_sent) <= selected), topic
        assert selected <= {*judged, *again.not_sent}, topic
        assert not judged.intersection(again.not_sent), topic
    (tmp_path / "quick.json").write_text(json.dumps(content), encoding="utf-8")
    result = chatproof("judge", "quick.json", "--topic", "prompt")
    assert re.search(
        r"not part of the recorded run \(--depth quick\), so not judged: \d+ requirements \(", result.stdout
    )
    assert result.code == 4


def test_a_run_can_be_judged_more_strictly_than_it_was(good: Good) -> None:
    relaxed, strict = broken(good.quick), rejudge.judge_again(broken(good.quick), strict=True).outcome.results
    assert {row["id"] for row in relaxed["requirements"] if row["fails"]} <= {
        row["id"] for row in strict["requirements"] if row["fails"]
    }
    assert (relaxed["run"]["strict"], strict["run"]["strict"]) == (False, True)


@pytest.mark.takes_turns
def test_an_unrecorded_scenario_is_listed_and_fails_nothing(good: Good) -> None:
    content = json.loads(good.all_results)
    content["exchanges"] = [exchange for exchange in content["exchanges"] if exchange["scenario"] != "conversation"]
    again = rejudge.judge_again(content)
    assert again.unrecorded == ("conversation",)
    assert again.outcome.results["verdict"] == "conformant"


@pytest.mark.takes_turns
@pytest.mark.parametrize("gone", [1, 2])
def test_a_scenario_without_a_round_that_it_needs_is_listed_as_unrecorded(
    read_good: Callable[[str], Good], gone: int
) -> None:
    good = read_good("mindie-2.3")
    name = "effects-of-sampling"
    scenario = next(scenario for scenario in good.plan.scenarios if scenario.id == name)
    left_out = {f"{name}/{step.name}" for step in scenario.steps if step.round >= gone}
    content = json.loads(good.all_results)
    content["exchanges"] = [exchange for exchange in content["exchanges"] if exchange["id"] not in left_out]
    again = rejudge.judge_again(content)
    assert again.unrecorded == (name,)
    assert again.outcome.results["verdict"] == "conformant"


@pytest.mark.takes_turns
def test_an_exchange_whose_request_has_changed_since_is_not_judged(good: Good) -> None:
    content = json.loads(good.all_results)
    for exchange in content["exchanges"]:
        if exchange["scenario"] == "conversation":
            exchange["request"]["body"] = exchange["request"]["body"].replace("max_tokens", "max_tokns")
    assert "conversation" in rejudge.judge_again(content).unrecorded


def test_a_gzipped_file_is_read_like_a_plain_one(good: Good, tmp_path: Path) -> None:
    (tmp_path / "r.json").write_text(good.results, encoding="utf-8")
    (tmp_path / "r.json.gz").write_bytes(gzip.compress(good.results.encode()))
    assert read_results(tmp_path / "r.json") == read_results(tmp_path / "r.json.gz")


@pytest.mark.parametrize(
    "data", [b"", b"{}", b"[]", b"\x1f\x8bxx", b'{"schema_version": 1}', b"\xff", b"[" * 100_000, b"nothing"]
)
def test_a_file_that_is_not_a_results_file_is_refused_on_one_line(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "r.json").write_bytes(data)
    with pytest.raises(UsageError) as raised:
        read_results(tmp_path / "r.json")
    assert len(str(raised.value).splitlines()) == 1


def test_the_judge_command_has_the_exit_codes_of_check(
    read_good: Callable[[str], Good], chatproof: Callable[..., CommandResult], tmp_path: Path
) -> None:
    good = read_good("mindie-2.3")
    (tmp_path / "good.json").write_text(good.results, encoding="utf-8")
    (tmp_path / "bad.json").write_text(json.dumps(broken(good.quick)), encoding="utf-8")
    codes = [chatproof("judge", name).code for name in ("good.json", "bad.json", "none.json")]
    assert codes == [0, 1, 2]
    result = chatproof("judge", "bad.json", "--topic", "usage", "--report", "junit=j.xml")
    assert (result.code, (tmp_path / "j.xml").exists()) == (0, True)


def test_an_exchange_is_found_by_its_id_its_scenario_or_a_finding(read_good: Callable[[str], Good]) -> None:
    content = broken(read_good("mindie-2.3").quick)
    name = content["exchanges"][3]["id"]
    assert resend.find_exchange(content, name).id == name
    scenario = content["exchanges"][0]["scenario"]
    assert resend.find_exchange(content, scenario).scenario == scenario
    row = next(row for row in content["requirements"] if row["findings"])
    shown = Reproduction(content).first_finding(row)
    assert shown is not None
    assert resend.find_exchange(content, row["id"]).id == shown["exchange"]
    for identity, hint in (("nothing", "for example"), ("usage.total-is-sum", "has no finding")):
        with pytest.raises(UsageError, match=hint):
            resend.find_exchange(content, identity)


def test_a_request_is_repeated_byte_for_byte_with_the_key_in_its_place(read_good: Callable[[str], Good]) -> None:
    for recorded in read_good("siliconstorm").exchanges.values():
        keyed = any("[REDACTED" in value for _, value in recorded.request.headers)
        call = resend.build_call(recorded, with_key=True, deadline_s=1)
        assert (call.body, call.method, call.with_key) == (recorded.request.body, recorded.request.method, keyed)
        assert "[REDACTED" not in json.dumps(dict(call.headers))
        altered = recorded.scenario == "key-altered" and recorded.step not in ("right", "missing")
        assert (recorded.step if altered else None) == call.alteration


def test_a_request_with_a_redacted_key_is_not_sent_without_a_key(read_good: Callable[[str], Good]) -> None:
    recorded = read_good("siliconstorm").exchanges["conversation", "main"]
    with pytest.raises(UsageError, match="--api-key-env"):
        resend.build_call(recorded, with_key=False, deadline_s=1)
    hidden = replace(recorded, request=replace(recorded.request, body=b'{"key": "[REDACTED]"}'))
    with pytest.raises(UsageError, match="cannot be sent again"):
        resend.build_call(hidden, with_key=True, deadline_s=1)


def test_replay_says_whether_a_finding_is_fixed(honest: str, chatproof: Callable[..., CommandResult]) -> None:
    def change(sent: Sent, reply: Reply) -> Reply:
        body = {**json.loads(b"".join(reply.pieces)), "object": "text"} if sent.method == "POST" and broken_now else {}
        return reply.saying(body) if "choices" in body else reply

    broken_now = [True]
    named = ("replay", "results.json", "--id", "answer.object-named")
    with FaultyProxy(honest, on_replies(change)) as server:
        checked = chatproof("check", server.url, "--dialect", "mindie", "--only", "conversation")
        still = chatproof(*named)
        broken_now.clear()
        fixed = chatproof(*named)
        scenario = chatproof("replay", "results.json", "--id", "conversation")
    assert (checked.code, still.code, fixed.code, scenario.code) == (1, 1, 0, 0)
    assert "still failing: MUST answer.object-named: /object: expected" in still.stdout
    assert still.stdout.splitlines()[-1] == "1 still failing"
    assert "fixed: MUST answer.object-named" in fixed.stdout
    assert "fixed: MUST answer.fits-schema" in scenario.stdout
    assert "still failing: MUST" not in scenario.stdout
    assert chatproof(*named).code == 3  # nothing listens any more


def test_a_request_that_fails_now_and_did_not_before_is_a_new_finding(
    honest: str, chatproof: Callable[..., CommandResult]
) -> None:
    def change(sent: Sent, reply: Reply) -> Reply:
        return replace(reply, status=500) if broken_now and sent.method == "POST" else reply

    broken_now: list[bool] = []
    with FaultyProxy(honest, on_replies(change)) as server:
        assert chatproof("check", server.url, "--dialect", "mindie", "--only", "conversation").code == 0
        same = chatproof("replay", "results.json", "--id", "conversation")
        broken_now.append(True)
        worse = chatproof("replay", "results.json", "--id", "conversation")
    assert (same.code, worse.code) == (0, 1)
    assert "MUST" not in same.stdout
    assert "new finding: MUST answer.accepted" in worse.stdout


def test_a_comparison_of_answers_is_repeated_with_all_of_them(read_good: Callable[[str], Good]) -> None:
    good = read_good("mindie-2.3")
    keys = [("greedy", "streamed"), ("greedy", "streamed-again")]
    changed = {key: edit_text(good.exchanges[key], lambda text: f"{text}!") for key in keys}
    content = json.loads("".join(results.to_json(good.outcome(changed).results)))
    runs = rejudge.rebuild(content)
    names = [exchange.step for exchange in verification.select_exchanges(content, runs, "stream.text-as-plain")]
    assert names == ["plain", "streamed", "plain-again", "streamed-again"]
    good_again = {exchange.id: exchange for exchange in good.exchanges.values()}
    (fixed,) = verification.verify(runs, good_again, "stream.text-as-plain")
    bad_again = {exchange.id: exchange for exchange in changed.values()}
    (still,) = verification.verify(runs, {**good_again, **bad_again}, "stream.text-as-plain")
    assert (fixed.state, still.state) == (verification.FIXED, verification.STILL_FAILING)
    assert not verification.verify(runs, bad_again, "stream.text-as-plain")


def test_a_reduced_run_is_judged_to_the_same_outcomes(honest: str, chatproof: Callable[..., CommandResult]) -> None:
    checked = chatproof("check", honest, "--dialect", "mindie", "--only", "stream.done-*")
    again = rejudge.judge_again(checked.results)
    assert again.outcome.results["requirements"] == checked.results["requirements"]
    assert again.unrecorded == ()


def test_a_new_selection_is_judged_by_all_recorded_exchanges_and_not_by_those_that_it_would_send(
    honest: str, chatproof: Callable[..., CommandResult]
) -> None:
    checked = chatproof("check", honest, "--dialect", "mindie", "--depth", "quick").results
    before = {row["id"]: (row["outcome"], row["exchanges"]) for row in checked["requirements"]}
    again = rejudge.judge_again(checked, only=("usage.total-is-sum",))
    after = {row["id"]: (row["outcome"], row["exchanges"]) for row in again.outcome.results["requirements"]}
    assert before["usage.total-is-sum"] == after["usage.total-is-sum"]
    assert ("PASS", ()) == (after["usage.total-is-sum"][0], again.unrecorded)
    narrowed = rejudge.judge_again(again.outcome.results).outcome.results
    assert ["PASS"] == [row["outcome"] for row in narrowed["requirements"] if row["id"] == "usage.total-is-sum"]


def test_replay_shows_how_the_answers_differ(honest: str, chatproof: Callable[..., CommandResult]) -> None:
    def change(sent: Sent, reply: Reply) -> Reply:
        return replace(reply, status=201) if answers == ["bad"] else reply

    answers = ["good"]
    with FaultyProxy(honest, on_replies(change)) as server:
        chatproof("check", server.url, "--dialect", "mindie", "--only", "stop-text")
        refused = chatproof("replay", "results.json", "--id", "no-such")
        answers[0] = "bad"
        result = chatproof("replay", "results.json", "--id", "stop-text/baseline")
    assert (refused.code, result.code) == (2, 1)
    assert "-status: 200" in result.stdout.splitlines()
    assert "+status: 201" in result.stdout.splitlines()
    gone = chatproof("replay", "results.json", "--id", "stop-text/baseline")
    assert gone.code == 3


@pytest.mark.takes_turns
def test_answers_that_differ_only_in_volatile_fields_are_equal(good: Good) -> None:
    def change_id(answer: dict[str, Any]) -> None:
        answer |= {"id": "another", "created": 1}

    def remove_time(answer: dict[str, Any]) -> None:
        answer["created"] = None

    assert not [exchange.id for exchange in good.exchanges.values() if resend.compare_answers(exchange, exchange).lines]
    plain = good.exchanges["conversation", "main"]
    assert () == resend.compare_answers(plain, edit_answer(plain, change_id)).lines
    assert '+ "created": null,' in resend.compare_answers(plain, edit_answer(plain, remove_time)).lines
