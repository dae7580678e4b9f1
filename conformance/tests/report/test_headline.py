"""The headline of reports counts causes and their consequences as the lists of the reports do."""

from __future__ import annotations

import io
import json
import random
import re
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree as Xml

import pytest
from rich.console import Console

from conformance.report import results
from conformance.report.writers import junit, markdown, sarif, terminal
from conformance.report.writers.cause_groups import describe_causes, list_problems
from conformance.report.writers.pages import check_page as page
from conformance.tests.report.judgements import results_with_failures

if TYPE_CHECKING:
    from collections.abc import Callable

    from conformance.tests.conftest import Good


def with_consequence(good: Good) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
    """Results with failures, one of which is made a consequence of another one; the cause and the consequence."""
    content = json.loads("".join(results.to_json(results_with_failures(good))))
    cause, consequence = [row for row in content["requirements"] if row["outcome"] in ("FAIL", "WARN")][:2]
    for row in content["requirements"]:
        row["causes"] = []
    consequence["causes"] = [cause["id"]]
    content["causes"] = [{"requirement": cause["id"], "consequences": [consequence["id"]]}]
    return content, cause, consequence


def test_every_report_links_a_consequence_to_its_cause(read_good: Callable[[str], Good]) -> None:
    content, cause, consequence = with_consequence(read_good("mindie-2.3"))
    output = io.StringIO()
    terminal.write(content, Console(file=output, width=200))
    printed = output.getvalue()
    below = printed.partition(f" {cause['id']}\n")[2].partition("1 consequence:")[2]
    listed = below.split("\n")[1].split()
    assert listed[:3] == [consequence["outcome"], consequence["keyword"], f"{consequence['id']}:"]
    assert printed.count(f" {consequence['id']}:") == 1
    text = markdown.write(content)
    assert f"### {consequence['id']}\n" not in text
    assert f"1 consequence:\n\n- {consequence['outcome']} {consequence['keyword']} `{consequence['id']}`" in text
    nested = page.write(content).partition("<summary>1 consequence:</summary>")[2].partition("</details>")[0]
    assert f"<code>{consequence['id']}</code>" in nested
    case = next(case for case in Xml.fromstring(junit.write(content)) if case.get("name") == consequence["id"])
    assert f"consequence of {cause['id']}" in "".join(case.itertext())
    alerts = [
        alert
        for alert in json.loads(sarif.write(content))["runs"][0]["results"]
        if alert["ruleId"] == consequence["id"]
    ]
    assert {alert["level"] for alert in alerts} == {"note"}
    assert all(alert["properties"]["causes"] == [cause["id"]] for alert in alerts)


def test_the_headline_counts_causes_apart_from_requirements(read_good: Callable[[str], Good]) -> None:
    content, cause, consequence = with_consequence(read_good("mindie-2.3"))
    for row in content["requirements"]:
        if row not in (cause, consequence):
            row.update(outcome="PASS", fails=False, findings=[])
    for row in (cause, consequence):
        row.update(outcome="FAIL", fails=True)
    assert describe_causes(content) == "2 requirements fail for 1 cause"


def test_the_headline_of_a_run_that_ended_early_counts_what_was_not_observed_apart(
    read_good: Callable[[str], Good],
) -> None:
    content = json.loads(read_good("mindie-2.3").results)
    failing, *unobserved = [row for row in content["requirements"] if row["keyword"] == "MUST"][:4]
    failing.update(outcome="FAIL", fails=True)
    for row in unobserved:
        row.update(outcome="UNTESTABLE", fails=True, findings=[], causes=[])
    assert (
        describe_causes(content) == "1 requirement fails for 1 cause, 3 requirements are untestable for 3 other causes"
    )
    content["run"]["exhausted"] = "interrupted"
    assert describe_causes(content) == "1 requirement fails for 1 cause, 3 not observed before the run ended"
    unobserved[0]["causes"] = [failing["id"]]
    content["causes"] = [{"requirement": failing["id"], "consequences": [unobserved[0]["id"]]}]
    assert describe_causes(content) == (
        "1 requirement fails for 1 cause, 1 untestable requirement explained by failures, "
        "2 not observed before the run ended"
    )


OUTCOMES = ("PASS", "FAIL", "WARN", "WAIVED", "UNTESTABLE", "ERROR", "NOT_EXERCISED")


def drawn_results(good: Good, seed: int) -> dict[str, Any]:
    """Results with outcomes and causes drawn at random; every second one is of a run that ended early."""
    draw = random.Random(seed)
    content: dict[str, Any] = json.loads(good.results)
    content["run"]["exhausted"] = "interrupted" if seed % 2 else None
    content["requirements"] = rows = draw.sample(content["requirements"], draw.randint(1, 60))
    for row in rows:
        outcome = draw.choice(OUTCOMES)
        row.update(outcome=outcome, findings=[], causes=[])
        row["fails"] = outcome == "FAIL" or (outcome in ("WARN", "UNTESTABLE") and draw.random() < 0.5)
    causes: dict[str, list[str]] = {row["id"]: [] for row in rows[: draw.randint(0, 5)]}
    for row in rows[len(causes) :] if causes else ():
        if row["outcome"] in ("FAIL", "WARN", "UNTESTABLE") and draw.random() < 0.5:
            row["causes"] = [draw.choice(list(causes))]
            causes[row["causes"][0]].append(row["id"])
    content["causes"] = [{"requirement": name, "consequences": names} for name, names in causes.items() if names]
    return content


@pytest.mark.parametrize("seed", range(30))
def test_the_headline_counts_each_entry_of_the_lists_of_the_reports_once(
    read_good: Callable[[str], Good], seed: int
) -> None:
    content = drawn_results(read_good("mindie-2.3"), seed)
    listed = len(list_problems(content))
    headline = describe_causes(content)
    assert listed == sum(int(number) for number in re.findall(r"for (\d+) (?:other )?causes?\b", headline))
    text = markdown.write(content)
    assert listed == text.count("\n### ")
    assert bool(headline) == (f"\n**{headline}.**\n" in text)
    written = page.write(content)
    further = written.partition('id="further-causes"')[2].partition("</section>")[0].count('<p class="small">')
    assert listed == written.count('<article class="cause ') + further


def test_the_headline_tells_warnings_with_a_cause_of_their_own_from_those_that_failures_explain(
    read_good: Callable[[str], Good],
) -> None:
    content, cause, consequence = with_consequence(read_good("mindie-2.3"))
    other = next(row for row in content["requirements"] if row not in (cause, consequence))
    for row in content["requirements"]:
        row.update(outcome="PASS", fails=False)
    cause.update(outcome="FAIL", fails=True)
    consequence.update(outcome="WARN")
    assert describe_causes(content) == "1 requirement fails for 1 cause, 1 warning explained by failures"
    other.update(outcome="WARN")
    expected = "1 requirement fails for 1 cause, 1 warning for 1 other cause, 1 warning explained by failures"
    assert describe_causes(content) == expected
