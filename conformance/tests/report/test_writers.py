"""Reports are valid, agree with the results, and neutralize all text from a server."""

from __future__ import annotations

import gzip
import io
import json
import re
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree as Xml

import pytest
from rich.console import Console

from conformance.report.outcome import Outcome
from conformance.report.report_kinds import REPORT_KINDS
from conformance.report.writers import (
    WRITERS,
    badge,
    junit,
    markdown,
    report_files,
    sarif,
    terminal,
    terminal_text,
    workflow_commands,
)
from conformance.tests.report.hostile_results import CONTROL, HOSTILE, hostile, outside_code
from conformance.tests.report.judgements import results_with_failures

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from conformance.tests.conftest import Good

GOODS = ["mindie-1.0", "mindie-2.3"]  # results are handled in the same way for every dialect


@pytest.fixture(params=HOSTILE)
def attacked(request: pytest.FixtureRequest, read_good: Callable[[str], Good]) -> dict[str, Any]:
    """Results of a run against a server that attacks the reports."""
    return hostile(read_good("mindie-2.3"), HOSTILE[request.param])


@pytest.mark.parametrize("strict", [False, True])
def test_the_counts_of_junit_are_those_of_the_results(good: Good, strict: bool) -> None:
    content = results_with_failures(good, strict=strict)
    suite = Xml.fromstring(junit.write(content))
    rows = content["requirements"]
    cases = suite.findall("testcase")
    assert [row["id"] for row in rows] == [case.get("name") for case in cases]
    for kind, attribute, expected in (
        ("failure", "failures", {row["id"] for row in rows if row["fails"]}),
        ("error", "errors", {row["id"] for row in rows if row["outcome"] == "ERROR"}),
        (
            "skipped",
            "skipped",
            {
                r["id"]
                for r in rows
                if r["outcome"] in ("UNTESTABLE", "NOT_EXERCISED", "NOT_APPLICABLE") and not r["fails"]
            },
        ),
    ):
        actual = {case.get("name") for case in cases if case.find(kind) is not None}
        assert (expected, str(len(expected))) == (actual, suite.get(attribute))
    assert str(len(rows)) == suite.get("tests")
    messages = {case.get("name"): failure.get("message") for case in cases for failure in case.findall("failure")}
    failing = [row for row in rows if row["fails"] and not row["causes"]]
    assert failing or not strict  # in MindIE 1.0 the fields that are changed here are a SHOULD
    for row in failing:
        assert f"{row['keyword']}: {row['summary'].removesuffix('.')}: expected " in str(messages[row["id"]])


@pytest.mark.parametrize(("has_failure", "errors"), [(True, 0), (False, 1)])
def test_junit_skips_what_was_not_observed_before_a_run_ended_early(good: Good, has_failure: bool, errors: int) -> None:
    content = json.loads(good.results)
    content["run"]["exhausted"] = "--fail-fast: usage.total-is-sum failed"
    failing, *others = content["requirements"][:4]
    for row in others:
        row.update(outcome="UNTESTABLE", keyword="MUST", fails=True, note="not sent")
    finding = {"where": "/", "expected": "1", "got": "2", "scenario": "s", "exchange": content["exchanges"][0]["id"]}
    if has_failure:
        failing.update(outcome="FAIL", fails=True, findings=[finding])
    suite = Xml.fromstring(junit.write(content))
    assert (int(has_failure), errors) == (len(suite.findall("*/failure")), len(suite.findall("*/error")))
    skipped = [case.get("name") for case in suite.findall("testcase") if case.find("skipped") is not None]
    assert {row["id"] for row in others} <= set(skipped)
    counts = [len(suite.findall(f"*/{kind}")) for kind in ("failure", "error", "skipped")]
    assert counts == [int(suite.get(kind, "")) for kind in ("failures", "errors", "skipped")]


def test_junit_is_valid_xml_whatever_a_server_sends(attacked: dict[str, Any]) -> None:
    written = junit.write(attacked)
    suite = Xml.fromstring(written)
    assert len(attacked["requirements"]) == len(suite.findall("testcase"))
    assert {"properties", "testcase"} == {child.tag for child in suite}
    assert not re.search(r"[\x00-\x08\x0b\x0c\x0e-\x1f]", written)
    written.encode()


def test_markdown_shows_the_text_of_a_server_only_in_code_spans(attacked: dict[str, Any]) -> None:
    page = markdown.write(attacked)
    rest = outside_code(page)
    assert not re.search(r"[<>\[\]@!]|http|::|evil|script", rest), rest[:2000]
    assert not CONTROL.search(page)
    assert "`" not in rest


def test_markdown_tables_keep_their_columns(attacked: dict[str, Any]) -> None:
    rows = [line for line in markdown.write(attacked).splitlines() if line.startswith("| ")]
    assert {4} == {len(re.split(r"(?<!\\)\|", line)) - 2 for line in rows}
    assert len(attacked["requirements"]) + 1 == len(rows)


def test_markdown_stays_short_whatever_a_server_sends(attacked: dict[str, Any]) -> None:
    assert len(markdown.write(attacked)) < 200_000


def shown(results: dict[str, Any]) -> str:
    """The terminal report as it is printed to a log."""
    file = io.StringIO()
    terminal.write(results, Console(file=file, highlight=False, width=100))
    return file.getvalue()


def test_the_terminal_report_contains_no_control_character(attacked: dict[str, Any]) -> None:
    text = shown(attacked)
    assert not CONTROL.search(text)
    text.encode("utf-8", errors="strict")


def test_no_line_of_the_terminal_report_is_a_command_of_a_ci_system(attacked: dict[str, Any]) -> None:
    assert not [line for line in shown(attacked).splitlines() if line.startswith(("::", "##["))]


def test_markup_from_a_server_is_shown_literally(read_good: Callable[[str], Good]) -> None:
    text = shown(hostile(read_good("mindie-2.3"), "[red]x[/red]"))
    assert "[red]x[/red]" in text


@pytest.mark.takes_turns
def test_the_terminal_report_lists_every_failure_and_the_verdict(good: Good) -> None:
    content = results_with_failures(good, is_whole=True)
    text = shown(content)
    assert not [
        row["id"] for row in content["requirements"] if row["outcome"] in ("FAIL", "WARN") and row["id"] not in text
    ]
    assert "nonconformant" in text


def test_the_terminal_report_of_a_run_that_judged_nothing_says_why(good: Good) -> None:
    content = results_with_failures(good)
    assert "no verdict" not in shown(content)
    run = {**content["run"], "unjudged": "no stream failed; select more"}
    assert "no verdict: no stream failed; select more" in shown({**content, "run": run})


@pytest.mark.parametrize("name", sorted(set(HOSTILE) - {"surrogate"}))  # JSON from a server contains none after parsing
def test_the_first_line_neutralizes_the_name_of_a_model(name: str) -> None:
    line = terminal.plan_lines("mindie-2.3", "http://h", HOSTILE[name], requirements=1, usual="", requests=2, tokens=3)
    file = io.StringIO()
    Console(file=file, highlight=False, width=100).print(line)
    assert not CONTROL.search(file.getvalue())
    assert len(file.getvalue()) < 2000


def test_every_kind_of_report_is_written_from_the_results_alone(good: Good) -> None:
    content = results_with_failures(good)
    before = json.dumps(content, default=list)
    assert all(write(content) for write in WRITERS.values())
    assert before == json.dumps(content, default=list)


def test_a_badge_is_a_valid_image_whatever_a_server_sends(attacked: dict[str, Any]) -> None:
    root = Xml.fromstring(badge.write(attacked))
    assert root.tag.endswith("svg")
    assert not {element.tag.rpartition("}")[2] for element in root.iter()} - {"svg", "title", "rect", "g", "text"}


def test_a_badge_in_a_json_file_has_the_format_of_shields_io(good: Good, tmp_path: Path) -> None:
    content = results_with_failures(good)
    names = ("b.json", "b.json.gz", "b.svg", "b")
    report_files.write_reports([("badge", tmp_path / name) for name in names], content)
    plain, packed, *pictures = [(tmp_path / name).read_bytes() for name in names]
    assert [badge.write(content)] * 2 == [picture.decode() for picture in pictures]
    assert plain == gzip.decompress(packed)
    endpoint = json.loads(plain)
    assert {"schemaVersion", "label", "message", "color"} == endpoint.keys()
    assert (1, content["target"]["dialect"], True) == (
        endpoint["schemaVersion"],
        endpoint["label"],
        endpoint["message"].startswith(content["verdict"]),
    )


def test_sarif_has_a_rule_for_every_requirement_and_a_result_for_every_finding(good: Good) -> None:
    content = results_with_failures(good)
    (run,) = json.loads(sarif.write(content))["runs"]
    rules = [rule["id"] for rule in run["tool"]["driver"]["rules"]]
    assert [row["id"] for row in content["requirements"]] == rules
    assert all(rules[result["ruleIndex"]] == result["ruleId"] for result in run["results"])
    failing = {row["id"] for row in content["requirements"] if row["fails"] and not row["causes"]}
    assert failing == {result["ruleId"] for result in run["results"] if result["level"] == "error"}
    assert all(result["message"]["text"] and result["partialFingerprints"] for result in run["results"])


def test_sarif_is_plain_text_whatever_a_server_sends(attacked: dict[str, Any]) -> None:
    written = sarif.write(attacked)
    assert written.isascii()
    assert not CONTROL.search(written)
    assert not [
        result for result in json.loads(written)["runs"][0]["results"] if CONTROL.search(result["message"]["text"])
    ]


@pytest.mark.parametrize("kind", ["junit", "markdown", "html", "sarif"])
def test_every_report_shows_the_command_that_repeats_a_finding(read_good: Callable[[str], Good], kind: str) -> None:
    written = WRITERS[kind](results_with_failures(read_good("siliconstorm")))
    assert "curl -sS" in written
    assert "$API_KEY" in written
    assert "curl -sS" in shown(results_with_failures(read_good("siliconstorm")))


def test_every_outcome_has_a_style() -> None:
    assert {outcome.value for outcome in Outcome} == set(terminal_text.STYLES)


def test_the_help_of_report_lists_every_kind() -> None:
    assert set(REPORT_KINDS) == set(WRITERS)


def test_every_report_states_how_much_of_the_document_was_judged(read_good: Callable[[str], Good]) -> None:
    content = json.loads(read_good("mindie-2.3").results)
    content["document"] |= {"judged": 100, "not_declared": 7, "undeclared_capabilities": {"tools": 6, "thinking": 1}}
    output = io.StringIO()
    terminal.write(content, Console(file=output, width=200))
    reports = {
        "terminal": output.getvalue(),
        **{kind: write(content) for kind, write in WRITERS.items() if kind != "badge"},
    }
    line = f"100 of {content['document']['sentences']} sentences of mindie-llm-2.3 judged"
    data_or_failures_alone = ["json", "jsonl", "har", "github"]
    assert [kind for kind, text in reports.items() if line not in text] == data_or_failures_alone
    undeclared = "tools (6), thinking (1)"
    assert [kind for kind, text in reports.items() if undeclared not in text] == data_or_failures_alone


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
def test_no_text_of_a_server_begins_a_workflow_command(read_good: Callable[[str], Good], text: str) -> None:
    content = hostile(read_good("mindie-2.3"), text)
    content["run"] |= {"annotate": text, "exhausted": text}
    lines = workflow_commands.write(content).split("\n")
    assert "" == lines.pop()
    assert lines
    for line in lines:
        assert re.fullmatch(r"::(error|warning) file=[^:,]*,title=[^:,]*::.*", line), line
        assert not CONTROL.search(line)


def test_findings_are_shown_at_the_file_that_the_user_names(read_good: Callable[[str], Good]) -> None:
    content = results_with_failures(read_good("mindie-2.3"))
    for named, expected in ((None, "results.json"), ("my server.yaml", "my%20server.yaml")):
        content["run"] |= {} if named is None else {"annotate": named}
        results_of_run = json.loads(sarif.write(content))["runs"][0]["results"]
        places = {item["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] for item in results_of_run}
        assert {expected} == places
    assert "file=my server.yaml," in workflow_commands.write(content)
