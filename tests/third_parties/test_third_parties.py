"""The command for software of other projects reports what is unknown, unconfirmed, false or broken; no network."""

from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import TYPE_CHECKING, Any, ClassVar

import pytest

from tests.third_parties import attribution, catalogue, confirmation, judging
from tests.third_parties.attribution import Attribution
from tests.third_parties.environments import expand
from tests.third_parties.judging import CitedRequest, Judgement, Row, read_results
from tests.third_parties.page import render
from tests.third_parties.program_run import Case, ProgramRun
from tests.third_parties.server_run import Finding, ServerRun

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

REFUSAL = {"expected": "n 0 is refused: 4xx", "got": "200: {}", "exchange": "n-0/main"}


class Handler(BaseHTTPRequestHandler):
    """Answers with the status that the body names, else with 200."""

    seen: ClassVar[list[str]] = []

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"])).decode()
        self.seen.append(body)
        answer = json.dumps({"choices": [{"message": {"content": "One"}}]}).encode()
        self.send_response(json.loads(body).get("status", 200))
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *args: Any) -> None:
        """Print nothing."""


@pytest.fixture
def url() -> Iterator[str]:
    """The URL of a small server."""
    server = HTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


def row(requirement: str = "parameters.n.minimum-outside", *findings: dict[str, Any]) -> Row:
    return Row(requirement, "FAIL", "MUST", "n: 0 is refused", findings or (REFUSAL,))


def judgement(url: str, body: dict[str, Any], *rows: Row) -> Judgement:
    request = CitedRequest(
        "POST", f"{url}/v1/chat/completions", (("Content-Type", "application/json"),), json.dumps(body)
    )
    return Judgement(
        "openai", "nonconformant", 1, {"FAIL": len(rows)}, 9, rows, ("topic.no-such-check",), {"n-0/main": request}
    )


def test_the_data_is_complete_and_every_attribution_can_be_read() -> None:
    servers = catalogue.servers()
    assert len(servers) == 8
    assert sum(server.gateway is not None for server in servers.values()) == 4
    assert {"openai"} <= {dialect for server in servers.values() for dialect in server.dialects}
    for name in servers:
        known = attribution.load(name)
        assert known, f"{name} has no attributions"
        assert all(each_known.behaviour and each_known.requirements for each_known in known)
    for program in {**catalogue.clients(), **catalogue.suites()}.values():
        assert program.unavailable or (program.software and program.command and program.against)


def test_an_unknown_cause_is_one_clear_line() -> None:
    with pytest.raises(ValueError, match=r"^x.yaml: invalid cause 'moon': expected one of server, model, chatproof$"):
        attribution._attribution("x.yaml", {"requirements": ["a"], "cause": "moon", "behaviour": "b"})


@pytest.mark.parametrize(("status", "confirmed"), [(200, True), (400, False), (500, False)])
def test_a_cited_request_confirms_only_the_status_that_was_reported(url: str, status: int, confirmed: bool) -> None:
    judged = judgement(url, {"status": status, "n": 0}, row())
    assert confirmation.confirm(url, "tiny", row(), judged, None).confirmed is confirmed


def test_a_refusal_that_was_demanded_confirms_nothing(url: str) -> None:
    refused = {**REFUSAL, "got": "400: {}"}
    judged = judgement(url, {"status": 400}, row())
    assert not confirmation.confirm(url, "tiny", row("parameters.n", refused), judged, None).confirmed


@pytest.mark.takes_turns
@pytest.mark.parametrize(
    ("condition", "met"),
    [
        ({"at": "/0/status", "is": 200}, True),
        ({"at": "/0/status", "is_not": 200}, False),
        ({"at": "/0/json/usage", "absent": True}, True),
        ({"at": "/0/json/choices/-1", "absent": False}, True),
        ({"at": "/0/content", "has": "On"}, True),
        ({"at": "/0/content", "lacks": "On"}, False),
        ({"at": "/0/nothing", "lacks": "On"}, False),
        ({"at": "/0/json/choices", "length": 1}, True),
        ({"at": "/0/content", "same_as": "/0/json/choices/0/message/content"}, True),
        ({"at": "/0/content", "differs_from": "/0/json/choices/0/message/content"}, False),
    ],
)
def test_a_condition_is_met_by_the_answer_and_by_nothing_else(url: str, condition: dict[str, Any], met: bool) -> None:
    how = {"send": [{"body": {"max_tokens": None}}], "shows": [condition]}
    confirmed = confirmation.confirm(url, "tiny", row(), judgement(url, {}), how)
    assert (confirmed.confirmed, confirmed.curl[:8]) == (met, "curl -sS")
    assert "max_tokens" not in Handler.seen[-1]


def test_an_invalid_condition_is_an_error(url: str) -> None:
    with pytest.raises(ValueError, match="invalid condition 'contains'"):
        confirmation.confirm(
            url, "tiny", row(), judgement(url, {}), {"send": [{}], "shows": [{"at": "/0", "contains": "x"}]}
        )


def test_every_row_that_is_not_known_to_be_true_is_a_problem() -> None:
    server = catalogue.servers()["llama-cpp"]
    true = confirmation.Confirmation(True, "curl", "200")
    false = confirmation.Confirmation(False, "curl", "400")
    ours, theirs = Attribution(("*",), "chatproof", "ours"), Attribution(("*",), "server", "theirs")
    result = ServerRun(server, version="1", judgements=[judgement("http://x", {}, row())])
    result.findings = [
        Finding("openai", row("a"), None, None),
        Finding("openai", row("b"), theirs, false),
        Finding("openai", row("c"), ours, true),
        Finding("openai", row("d"), theirs, true),
    ]
    problems = "\n".join(result.problems())
    assert [f"FAIL {name}:" in problems for name in "abcd"] == [True, True, True, False]
    assert "UNTESTABLE topic.no-such-check" in problems
    text = render([result], [])
    assert "| 3 |" in text.split("## The gateway")[0]
    assert "4 FAIL and WARN rows, 1 of them confirmed" in text


def test_a_server_that_is_not_installed_is_listed_with_the_reason() -> None:
    result = ServerRun(catalogue.servers()["vllm"], not_run="not installed: no wheel for this machine")
    assert list(result.problems()) == []
    assert "not installed: no wheel for this machine" in render([result], [])


def test_a_client_that_fails_in_an_unknown_way_is_a_problem() -> None:
    program = next(iter(catalogue.clients().values()))
    result = ProgramRun(program, cases={"openai": [Case("plain", True, ""), Case("new", False, "broken | here")]})
    assert list(result.problems()) == [f"{program.name} against openai: new: broken | here"]
    assert "1 of 2" in render([], [result])


def test_results_files_are_read_with_their_cited_requests() -> None:
    exchange = {
        "id": "a/b",
        "request": {"method": "POST", "url": "http://h:1/v1", "headers": [["A", "b"]], "body": "{}"},
    }
    requirement = {"id": "r", "outcome": "FAIL", "keyword": "MUST", "summary": "s", "findings": [REFUSAL]}
    results = {
        "target": {"dialect": "openai"}, "verdict": "nonconformant", "counts": {}, "run": {"requests": 3},
        "requirements": [requirement, {**requirement, "id": "u", "outcome": "UNTESTABLE"}], "exchanges": [exchange],
    }  # fmt: skip
    read = read_results(results, 1).at("http://h:2")
    assert ([reported.requirement for reported in read.rows], read.untestable) == (["r"], ("u",))
    assert read.requests["a/b"].url == "http://h:2/v1"


def test_commands_are_expanded(tmp_path: Any) -> None:
    for server in catalogue.servers().values():
        text = expand(server.start, tmp_path, port="1", upstream="http://u")
        assert "{" not in text, text


def test_a_run_without_a_verdict_in_time_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(judging, "RUN_S", 0.01)
    with pytest.raises(judging.NotJudgedError, match=r"^no verdict within 0 s$"):
        judging.judge("http://127.0.0.1:1", "openai", "m", tmp_path, "openai")
