"""The page of a check: nothing that a server sent can act, everything has a link target, and browsers show it."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import shutil
import subprocess
from html.parser import HTMLParser
from typing import TYPE_CHECKING, Any

import pytest

from conformance.report.writers.cause_groups import MOST_CAUSES
from conformance.report.writers.pages import check_page as page
from conformance.report.writers.pages.page_exchanges import make_id
from conformance.report.writers.pages.page_template import mark_code
from conformance.tests.report.hostile_results import CONTROL, HOSTILE, hostile
from conformance.tests.report.judgements import results_with_failures

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from conformance.tests.conftest import Good

CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome")
VOID = {"meta", "input", "br"}


class Page(HTMLParser):
    """The elements of a page with their attributes, its ids and links, and whether elements are nested properly."""

    def __init__(self, written: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.opened: list[str] = []
        self.feed(written)
        self.close()
        assert [] == self.opened

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.opened.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert tag == self.opened.pop()

    def values(self, attribute: str) -> list[str]:
        """The values of an attribute, in order."""
        return [
            value or "" for _, attributes in self.elements for name, value in attributes.items() if name == attribute
        ]


def attacked(content: dict[str, Any], text: str) -> dict[str, Any]:
    """Results with a hostile string also in exchanges, in the ids of requirements and in a further dialect."""
    exchange = next(item for item in content["exchanges"] if item["response"])
    events = "".join(f"data: {line}\n" for line in text.splitlines() or [""])
    headers = [["content-type", "text/event-stream"], ["x", text]]
    response = {**exchange["response"], "headers": headers, "segments": [[0.1, f"{events}\n"]], "reason": text}
    content["exchanges"] = [
        {**exchange, "id": f"a/{text}", "response": response, "request": {**exchange["request"], "body": text}},
        {**exchange, "id": text, "failure": {"kind": "reset", "detail": text}},
    ]
    content["requirements"][0] |= {"id": text, "check": text, "source": text, "causes": [text]}
    content["also"] = [{**content, "requests": 1, "target": {**content["target"], "dialect": text}}]
    return content


@pytest.mark.parametrize("name", sorted(set(HOSTILE) - {"surrogate"}))  # JSON from a server has none after parsing
def test_the_text_of_a_server_cannot_act(read_good: Callable[[str], Good], name: str) -> None:
    written = page.write(attacked(hostile(read_good("mindie-2.3"), HOSTILE[name]), HOSTILE[name]))
    read = Page(written)
    tags = [tag for tag, _ in read.elements]
    assert (1, 1) == (tags.count("script"), tags.count("style"))
    assert set() == set(tags) & {"img", "iframe", "object", "embed", "base", "link", "video", "audio"}
    assert 1 == tags.count("form")
    assert [] == [value for value in (*read.values("href"), *read.values("src")) if not value.startswith("#")]
    attributes = {attribute for _, given in read.elements for attribute in given}
    assert [] == [attribute for attribute in attributes if attribute.startswith("on") or attribute == "style"]
    assert not CONTROL.search(written)
    written.encode()


@pytest.mark.takes_turns
def test_the_policy_allows_the_own_style_and_script_and_no_connection(good: Good) -> None:
    written = page.write(results_with_failures(good))
    for name in ("style", "script"):
        match = re.search(f"<{name}>(.*?)</{name}>", written, re.DOTALL)
        assert match is not None
        digest = base64.b64encode(hashlib.sha256(match[1].encode()).digest()).decode()
        assert f"{name}-src &#39;sha256-{digest}&#39;;" in written
    assert 'content="default-src &#39;none&#39;; style-src' in written
    assert not re.search(r"\b(fetch|XMLHttpRequest|WebSocket|eval|innerHTML)\b", written.partition("<script>")[2])


def test_every_requirement_finding_and_exchange_has_a_link_target_and_every_link_a_target(
    read_good: Callable[[str], Good],
) -> None:
    content = results_with_failures(read_good("mindie-2.3"))
    read = Page(page.write(content))
    ids = read.values("id")
    assert len(ids) == len(set(ids))
    for kind, count in (
        ("requirement", len(content["requirements"])),
        ("exchange", len(content["exchanges"])),
        ("finding", sum(min(page.MAX_FINDINGS, len(row["findings"])) for row in content["requirements"])),
    ):
        assert count == sum(identity.startswith(f"{kind}-") for identity in ids), kind
    assert set() == {link.removeprefix("#") for link in read.values("href")} - set(ids)


def test_outcomes_are_grouped_with_failures_first_and_what_passes_folded(read_good: Callable[[str], Good]) -> None:
    content = results_with_failures(read_good("mindie-2.3"))
    pattern = r'<details class="group"( open)?><summary><span class="tag (\w+)">\2</span> (\d+)'
    groups = re.findall(pattern, page.write(content))
    present = [(name, str(content["counts"][name])) for name in page.MEANINGS if content["counts"].get(name)]
    assert present == [(name, count) for _, name, count in groups]
    folded = {"PASS", "OBSERVED", "NOT_EXERCISED", "NOT_APPLICABLE"} & {name for name, _ in present}
    assert folded == {name for opened, name, _ in groups if not opened}
    assert {"PASS", "OBSERVED", "NOT_EXERCISED"} <= folded


def test_causes_after_the_first_ones_are_folded_and_link_to_their_evidence(read_good: Callable[[str], Good]) -> None:
    content = json.loads(read_good("mindie-2.3").results)
    for row in [row for row in content["requirements"] if row["outcome"] == "PASS"][: MOST_CAUSES + 5]:
        row.update(outcome="FAIL", fails=True)
    written = page.write(content)
    first, _, rest = written.partition('<details id="further-causes"><summary>5 further causes</summary>')
    assert MOST_CAUSES == first.count('<article class="cause ')
    assert 5 == rest.partition("</details>")[0].count('href="#requirement-')


def test_the_broken_event_of_a_stream_is_marked_and_the_sentence_is_cited(read_good: Callable[[str], Good]) -> None:
    content = json.loads(read_good("mindie-2.3").all_results)
    streamed = next(item for item in content["exchanges"] if item["id"] == "greedy/streamed")
    row = next(row for row in content["requirements"] if row["id"] == "stream.done-last")
    finding = {"where": "/events/2", "expected": "x", "got": "y", "scenario": "greedy", "exchange": streamed["id"]}
    row.update(outcome="FAIL", fails=True, findings=[finding])
    written = page.write(content)
    marked = re.findall(r'<tr class="broken"><td>(\d+) broken</td>', written)
    assert ["2"] == marked
    assert "MUST: the event [DONE] ends the stream (mindie-llm-2.3#stream/done)" in written


def test_a_further_dialect_is_a_column(read_good: Callable[[str], Good]) -> None:
    content = json.loads(read_good("mindie-2.3").results)
    other = json.loads(json.dumps(content))
    content["requirements"][0].update(outcome="FAIL", fails=True)
    name = content["requirements"][0]["id"]
    content["also"] = [{**other, "requests": 1, "target": {**other["target"], "dialect": "other-1"}}]
    written = page.write(content)
    assert '<th scope="col">mindie-2.3</th><th scope="col">other-1</th><th scope="col">finding</th>' in written
    assert f'<code>{name}</code></th><td class="FAIL">FAIL</td><td class="PASS">PASS</td>' in written
    assert '<span class="PASS">other-1: PASS</span>' in written


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("ends with `[DONE]`.", "ends with <code>[DONE]</code>."),
        ("`a` and `b", "<code>a</code> and `b"),
        ("`<script>` & `</code><img>`", "<code>&lt;script&gt;</code> &amp; <code>&lt;/code&gt;&lt;img&gt;</code>"),
    ],
)
def test_words_between_backticks_are_code_and_nothing_else_is_markup(text: str, expected: str) -> None:
    assert expected == mark_code(text)


def test_ids_differ_whatever_names_are_given() -> None:
    taken: set[str] = set()
    names = ["a b", "a/b", "a_b", "", "é" * 500, "é" * 501]
    assert len(names) == len({make_id("x", name, taken) for name in names})
    assert all(re.fullmatch(r"[A-Za-z0-9._-]+", identity) for identity in taken)


def test_a_page_of_two_thousand_exchanges_is_small(read_good: Callable[[str], Good]) -> None:
    content = json.loads(read_good("mindie-2.3").results)
    content["exchanges"] = [
        {**item, "id": f"{item['id']}-{number}"} for number in range(3) for item in content["exchanges"]
    ][:2000]
    assert len(page.write(content).encode()) < 8_000_000


def test_summaries_contain_nothing_to_activate_and_what_scrolls_has_a_name_and_takes_the_focus(
    read_good: Callable[[str], Good],
) -> None:
    written = page.write(results_with_failures(read_good("mindie-2.3")))
    summaries = re.findall("<summary>(.*?)</summary>", written, re.DOTALL)
    assert [] == [summary for summary in summaries if re.search("<(a|button|input|select) ", summary)]
    read = Page(written)
    landmarks = [given["aria-labelledby"] for tag, given in read.elements if tag == "section"]
    assert len(landmarks) == len(set(landmarks))
    groups = [given for _, given in read.elements if given.get("role") == "group"]
    assert groups
    assert [] == [given for given in groups if not (given.get("aria-label") or given.get("aria-labelledby"))]
    scrolling = [given for tag, given in read.elements if given.get("class") == "wide" or (tag, given) == ("pre", {})]
    assert scrolling
    assert [] == [given for given in scrolling if given.get("tabindex") != "0"]
    buttons = [given for _, given in read.elements if given.get("class") == "copy needs-script"]
    assert [] == [given for given in buttons if not (given["aria-label"] or "").startswith("copy the command of ")]


def browse(page: Path, anchor: str = "") -> str:
    """Open a page in Chromium, and return its document after the script has run."""
    profile = f"--user-data-dir={page.parent / 'profile'}"
    command = [str(CHROMIUM), "--headless=new", "--no-sandbox", profile, "--dump-dom", f"file://{page}{anchor}"]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=True).stdout


@pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium")
def test_a_browser_runs_the_script_and_opens_the_target(read_good: Callable[[str], Good], tmp_path: Path) -> None:
    content = results_with_failures(read_good("mindie-2.3"))
    (tmp_path / "page.html").write_text(page.write(content), encoding="utf-8")
    name = next(row["id"] for row in content["requirements"] if row["outcome"] == "PASS")
    shown = browse(tmp_path / "page.html", f"#requirement-{name}")
    count = len(content["requirements"])
    assert f">{count} of {count} requirements</output>" in shown
    target = re.search(f'<details class="row" id="requirement-{re.escape(name)}"[^>]*>', shown)
    assert target is not None
    assert 'open=""' in target[0]
