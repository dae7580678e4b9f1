"""A page is shown with its coverage: each line, its sentences, and what judges them."""

from __future__ import annotations

import re
from dataclasses import replace
from hashlib import sha256
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner

from chatproof import main
from conformance.cli.tracing import trace_command
from conformance.cli.tracing.trace_command import trace_sentences
from conformance.cli.tracing.trace_page import write_html, write_text
from conformance.plan.traced_page import count_lines, trace_passages
from openapi.contract.contract import load
from openapi.contract.page.page_coverage import load_page_coverage, parse_page_coverage

if TYPE_CHECKING:
    from pathlib import Path

    from conformance.plan.traced_sentences import TracedSentence
    from openapi.contract.page.page_coverage import PageCoverage

ROW = {
    "document": "ovms-2024.4",
    "lines": 6,
    "empty": 2,
    "sentences": {1: ["url"], "3-4": ["stream-done", "graphs"], 5: ["graphs"]},
    "prose": {"heading": 6},
}
PAGE = ["the path", "", "ends <b>", "with [DONE]", "graphs only", "The end"]


@pytest.fixture(scope="module")
def traced() -> tuple[TracedSentence, ...]:
    """The sentences of OVMS with what tests them."""
    return trace_sentences(load("ovms"))


@pytest.fixture
def coverage() -> PageCoverage:
    """A mapping of a page of six lines to sentences of OVMS."""
    return parse_page_coverage(ROW, "ovms-2024.4")


def run(*arguments: str) -> tuple[int, str, str]:
    result = CliRunner(catch_exceptions=False, env={"COLUMNS": "200"}).invoke(main, ("spec", "trace", *arguments))
    return result.exit_code, result.stdout, result.stderr


def test_adjacent_lines_with_the_same_coverage_are_one_passage(
    coverage: PageCoverage, traced: tuple[TracedSentence, ...]
) -> None:
    passages = trace_passages(coverage, traced, PAGE)
    assert [(item.numbers, item.kind, item.texts) for item in passages] == [
        ("1", "schema", ("the path",)),
        ("3-4", "judged", ("ends <b>", "with [DONE]")),
        ("5", "excluded", ("graphs only",)),
        ("6", "prose", ("The end",)),
    ]
    assert count_lines(passages) == {"judged": 2, "schema": 1, "excluded": 1, "prose": 1, "unmapped": 0}


def test_the_text_shows_each_line_with_its_sentences_and_their_judges(
    coverage: PageCoverage, traced: tuple[TracedSentence, ...]
) -> None:
    text = list(write_text(trace_passages(coverage, traced, PAGE)))
    assert text[:3] == [
        "  1  the path",
        "       MUST url: the path of the endpoint is /v3/chat/completions",
        "         schema: endpoint/path",
    ]
    assert text[3:5] == ["  3  ends <b>", "  4  with [DONE]"]
    assert text[-2:] == ["  6  The end", "       heading"]


def test_the_page_as_html_is_one_file_in_which_no_text_acts(
    coverage: PageCoverage, traced: tuple[TracedSentence, ...]
) -> None:
    passages = trace_passages(coverage, traced, PAGE)
    html = write_html(load("ovms").document, passages, count_lines(passages))
    assert "default-src 'none'" in html
    assert "ends &lt;b&gt;\nwith [DONE]" in html
    assert re.findall(r'<th scope="row" class="(\w+)">([\d-]+)</th>', html) == [
        *(("schema", "1"), ("judged", "3-4"), ("excluded", "5"), ("prose", "6")),
    ]
    assert "src=" not in html
    assert "href=" not in html


def test_without_the_page_only_numbers_are_shown() -> None:
    code, output, errors = run("--dialect", "ovms", "--format", "page")
    coverage = load_page_coverage("ovms-2024.4")
    assert (code, errors) == (0, "")
    number = coverage.lines - len(coverage.empty)
    assert re.fullmatch(rf"ovms-2024: {number} lines, .*, 0 unmapped", output.splitlines()[-1])
    assert "MUST stream-done: the event [DONE] ends the stream" in output


def test_the_page_is_shown_if_it_is_the_pinned_one(
    tmp_path: Path, coverage: PageCoverage, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "page.txt"
    file.write_text("\n".join(PAGE), encoding="utf-8")
    contract = load("ovms")
    stated = [item for item in contract.sentences if item.id in ("url", "stream-done", "graphs")]
    document = replace(contract.document, sha256=sha256(file.read_bytes()).hexdigest())
    monkeypatch.setattr(
        trace_command, "load_contract", lambda _: replace(contract, document=document, sentences=tuple(stated))
    )
    monkeypatch.setattr(trace_command, "load_page_coverage", lambda _: coverage)
    code, output, errors = run("--dialect", "ovms", "--format", "page", "--page", str(file))
    assert (code, errors) == (0, "")
    assert "  4  with [DONE]" in output.splitlines()
    unmapped = replace(coverage, entries=coverage.entries[:-1])
    monkeypatch.setattr(trace_command, "load_page_coverage", lambda _: unmapped)
    code, _, errors = run("--dialect", "ovms", "--format", "html", "--page", str(file))
    assert code == 1
    assert errors == f"{file}:6: unmapped: add it to sentences or prose in openapi/pages/ovms-2024.4.yaml\n"
    code, _, errors = run("--dialect", "ovms")
    assert code == 1
    assert errors == "ovms-2024.4:6: unmapped: add it to sentences or prose in openapi/pages/ovms-2024.4.yaml\n"


def test_a_file_that_is_not_the_pinned_page_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "page.txt"
    file.write_text("another page", encoding="utf-8")
    code, _, errors = run("--dialect", "ovms", "--format", "page", "--page", str(file))
    assert code == 2
    assert errors.startswith(f"chatproof: --page {file}: not the pinned page of ovms-2024.4: expected sha256 ")
    assert errors.count("\n") == 1


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (("--format", "html"), "--format html requires --dialect NAME: it shows one page"),
        (("--dialect", "ovms", "--page", __file__), "--page requires --format page or --format html"),
        (("--dialect", "vllm", "--format", "page"), "--format page: the page of vllm-0.33 is not mapped"),
    ],
)
def test_options_that_do_not_fit_are_usage_errors(arguments: tuple[str, ...], problem: str) -> None:
    code, _, errors = run(*arguments)
    assert (code, errors) == (2, f"chatproof: {problem}\n")
