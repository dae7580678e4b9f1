"""JSON lines and HTTP archives agree with the results, and JSON lines are written during the run."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from conformance.errors import UsageError
from conformance.exchange import Exchange
from conformance.record import Record
from conformance.report.writers.logs import har, json_lines
from conformance.tests.report.hostile_results import HOSTILE, hostile

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from conformance.tests.conftest import CommandResult, Good

NARROW = ("--dialect", "mindie", "--only", "conversation")


@pytest.fixture
def results(read_good: Callable[[str], Good]) -> dict[str, Any]:
    return json.loads(read_good("mindie-2.3").results)  # type: ignore[no-any-return]


def test_every_exchange_and_every_requirement_has_a_line(results: dict[str, Any]) -> None:
    lines = [json.loads(line) for line in json_lines.write(results)]
    assert [item["id"] for item in results["exchanges"]] == [
        line["id"] for line in lines if line["event"] == "exchange"
    ]
    assert [(row["id"], row["outcome"]) for row in results["requirements"]] == [
        (line["id"], line["outcome"]) for line in lines if line["event"] == "requirement"
    ]
    assert ("start", "end") == (lines[0]["event"], lines[-1]["event"])
    assert (results["verdict"], results["counts"]) == (lines[-1]["verdict"], lines[-1]["counts"])


@pytest.mark.parametrize("name", HOSTILE)
def test_a_line_is_one_line_of_printable_ascii(read_good: Callable[[str], Good], name: str) -> None:
    for line in json_lines.write(hostile(read_good("mindie-2.3"), HOSTILE[name])):
        assert line[:-1].isascii()
        assert line[:-1].isprintable()
        assert line.endswith("\n")


def test_lines_are_written_while_the_run_goes_on(tmp_path: Path, results: dict[str, Any]) -> None:
    path, record = tmp_path / "run.jsonl", Record()
    with json_lines.LiveLog(path) as log:
        log.begin("http://h", "mindie-2.3", "m")
        for number, data in enumerate(results["exchanges"][:3], 1):
            exchange = Exchange.from_dict(data)
            record.exchanges[exchange.scenario, exchange.step] = exchange
            log.update(record)
            assert number + 1 == len(path.read_text("utf-8").splitlines())
    of_run = path.read_text("utf-8").splitlines()[1:]
    assert [line.strip() for line in json_lines.write(results)][1:4] == of_run


def test_a_check_writes_its_lines_live_and_as_the_results_are(
    honest: str, chatproof: Callable[..., CommandResult]
) -> None:
    result = chatproof("check", honest, *NARROW, "--report", "jsonl=run.jsonl", "--report", "jsonl=run.jsonl.gz")
    assert 0 == result.code, result.stderr
    events = [json.loads(line) for line in (result.folder / "run.jsonl").read_text("utf-8").splitlines()]
    exchanges = {item["id"] for item in result.results["exchanges"]}
    assert exchanges == {line["id"] for line in events if line["event"] == "exchange"}
    assert "conformant" == events[-1]["verdict"]
    written = [line for line in result.stdout.splitlines() if " written to " in line]
    files = ("json written to results.json", "jsonl written to run.jsonl", "jsonl written to run.jsonl.gz")
    assert list(files) == written
    assert (result.folder / "run.jsonl.gz").read_bytes().startswith(b"\x1f\x8b")


def test_a_log_that_cannot_be_written_is_an_error_of_the_user(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot write"), json_lines.LiveLog(tmp_path):
        pass


def test_an_archive_has_the_request_and_the_answer_of_every_exchange(results: dict[str, Any]) -> None:
    log = json.loads("".join(har.write(results)))["log"]
    assert ("1.2", "chatproof") == (log["version"], log["creator"]["name"])
    assert [item["id"] for item in results["exchanges"]] == [entry["comment"] for entry in log["entries"]]
    for item, entry in zip(results["exchanges"], log["entries"], strict=True):
        exchange = Exchange.from_dict(item)
        assert (exchange.request.method, exchange.request.url, exchange.status or 0) == (
            entry["request"]["method"],
            entry["request"]["url"],
            entry["response"]["status"],
        )
        assert exchange.text == entry["response"]["content"]["text"]
        assert entry["time"] == pytest.approx(sum(entry["timings"].values()), abs=0.01)
        for part, names in REQUIRED.items():
            assert names <= (entry[part] if part else entry).keys()


REQUIRED = {
    "": {"startedDateTime", "time", "request", "response", "cache", "timings"},
    "request": {"method", "url", "httpVersion", "cookies", "headers", "queryString", "headersSize", "bodySize"},
    "response": {
        *("status", "statusText", "httpVersion", "cookies", "headers", "content", "redirectURL"),
        *("headersSize", "bodySize"),
    },
    "timings": {"send", "wait", "receive"},
}
"""The fields that HAR 1.2 requires."""


@pytest.mark.parametrize("name", HOSTILE)
def test_an_archive_is_printable_json_whatever_a_server_sends(read_good: Callable[[str], Good], name: str) -> None:
    content = hostile(read_good("mindie-2.3"), HOSTILE[name])
    content["exchanges"][0]["response"]["headers"].append(["x", HOSTILE[name]])
    text = "".join(har.write(content))
    assert text.isascii()
    assert json.loads(text)
