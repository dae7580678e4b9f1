"""The source of the documentation site: a page for each command, dialect and check, and no broken link."""

from __future__ import annotations

import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import yaml

from chatproof.command_table import COMMANDS, CommandGroup
from conformance.judge.check_registry import gather_checks
from conformance.proof import kill_table
from conformance.proof.mutants.mutant import gather_mutants
from docs.build_site import build
from docs.example_findings import find_in_recorded_runs, read_stored
from openapi.contract.contract import names

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).resolve().parent.parent
LINK = re.compile(r"\]\((?!https?:)([^)#\s]*)(?:#([^)\s]*))?\)")
FINDING = re.compile(r"^expected  \S.*\ngot       .*\nat        \S", re.MULTILINE)
LINES = re.compile(r"^(?:expected  |got       )(.*)$", re.MULTILINE)
ONE_OF_MANY = re.compile(r"(?<![\w.,:/\-])1 (?!(?:is|was|has|as|its)\b)[a-z]+s\b")
CODE = re.compile(r"^```.*?^```|`[^`\n]*`", re.MULTILINE | re.DOTALL)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the source."""
    folder = tmp_path_factory.mktemp("site")
    build(folder)
    return folder


def test_every_command_dialect_and_check_has_a_page(site: Path) -> None:
    pages = {
        kind: {path.stem for path in (site / "pages" / "docs" / kind).iterdir()} - {"index"}
        for kind in ("commands", "dialects", "checks")
    }
    commands = {
        f"{name}-{child}".strip("-")
        for name, entry in COMMANDS.items()
        for child in (entry.commands if isinstance(entry, CommandGroup) else ("",))
    }
    assert {"commands": commands, "dialects": set(names().values()), "checks": set(gather_checks())} == pages


def test_the_page_of_a_check_has_its_claim_reason_sentence_example_and_fix(site: Path) -> None:
    folder = site / "pages" / "docs" / "checks"
    texts = {path.stem: path.read_text("utf-8") for path in folder.iterdir() if path.stem != "index"}
    for text in texts.values():
        assert ["## Why it matters", "## Required by", "## Example finding", "## How to fix it"] == re.findall(
            "^## .*", text, re.MULTILINE
        )
    assert [] == [name for name, text in texts.items() if not FINDING.search(text)]
    found = re.search(r"expected  (\d+) \+ (\d+) = (\d+)\ngot {7}(\d+)", texts["usage.total-is-sum"])
    assert found is not None
    prompt, completion, total, got = map(int, found.groups())
    assert (prompt + completion, total + 1) == (total, got)


def test_no_finding_of_a_check_has_a_plural_after_one(site: Path) -> None:
    folder = site / "pages" / "docs" / "checks"
    findings = {path.stem: LINES.findall(path.read_text("utf-8")) for path in folder.iterdir() if path.stem != "index"}
    assert [] == [(name, line) for name, lines in findings.items() for line in lines if ONE_OF_MANY.search(line)]
    assert sum(map(len, findings.values())) >= 2 * len(findings)


def test_a_stored_example_is_of_a_fault_that_its_check_detects_and_no_recorded_run_shows_it() -> None:
    faults, mutants = kill_table.read()["faults"], gather_mutants()
    stored = read_stored()
    assert [] == [name for name in stored if name not in gather_checks()]
    for name, example in stored.items():
        fault = faults[example["fault"]]
        assert fault["line"] == example["defect"]
        assert example["dialect"] in fault["dialect"].split(", ")
        assert name in fault["killed_by"]
    assert [] == [name for name in stored if find_in_recorded_runs(name, mutants[name]) is not None]


def links(page: Path) -> Iterator[tuple[Path, str]]:
    """Yield the file and the anchor of each relative link."""
    for target, anchor in LINK.findall(CODE.sub("", page.read_text("utf-8"))):
        yield (page.parent / target if target else page).resolve(), anchor


def test_every_link_leads_to_a_file(site: Path) -> None:
    pages = list((site / "pages").rglob("*.md"))
    broken = [f"{page.name}: {target}" for page in pages for target, _ in links(page) if not target.exists()]
    assert [] == broken
    assert sum(1 for page in pages for _ in links(page)) > 1000


def test_every_page_of_the_navigation_exists(site: Path) -> None:
    def files(items: object) -> Iterator[str]:
        for item in items if isinstance(items, list) else [items]:
            if isinstance(item, dict):
                for value in item.values():
                    yield from files(value)
            else:
                yield str(item)

    nav = yaml.safe_load((site / "mkdocs.yml").read_text("utf-8"))["nav"]
    assert [] == [name for name in files(nav) if not (site / "pages" / name).is_file()]


@pytest.mark.skipif(find_spec("mkdocs") is None, reason="needs mkdocs: tox -e docs")
def test_the_site_is_built_without_a_warning(site: Path) -> None:
    command = [sys.executable, "-m", "mkdocs", "build", "--quiet", "--strict", "-f", str(site / "mkdocs.yml")]
    assert 0 == subprocess.run(command, capture_output=True).returncode
    assert (site / "site" / "index.html").exists()
