"""Comparison of descriptions by name or file, and the output of the command."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
import yaml
from click.testing import CliRunner

from openapi.contract.contract import ContractError, load
from openapi.description import comparison
from openapi.description.comparison_source import load_description
from openapi.description.description import describe, describe_oas31
from openapi.description.differences import DescriptionDifference, Effect, find_differences
from openapi.description.spec_files import write_specs
from openapi.spec_commands import diff

if TYPE_CHECKING:
    from pathlib import Path


def test_dialects_files_and_saved_descriptions_can_be_compared(tmp_path: Path) -> None:
    write_specs(tmp_path)
    own = {"id": "mine", "aliases": [], "title": "Mine", "document": "mindie-llm-2.3", "extends": "mindie-2.3"}
    (tmp_path / "mine.yaml").write_text(yaml.safe_dump({**own, "replace": {"parameters/n/schema/maximum": 4}}))
    saved = load_description(str(tmp_path / "mindie-2.3.json"))
    assert saved == describe(load("mindie-2.3"))
    assert load_description(str(tmp_path / "mindie-2.3.oas31.json")) == describe_oas31(load("mindie-2.3"))
    [only] = find_differences(saved, load_description(str(tmp_path / "mine.yaml")))
    assert only == DescriptionDifference("request", "n", Effect.BREAKING, "maximum", "≤ 128", "≤ 4")


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("unknown", None, "unknown dialect 'unknown': expected the path of a .yaml file, or one of deepseek, "),
        ("gone.json", None, "gone.json: No such file or directory"),
        ("bad.json", b"{", "bad.json:1:2: invalid JSON: Expecting property name"),
        ("bytes.json", b"\xff", "bytes.json: invalid encoding: expected UTF-8"),
        ("list.json", b"[]", "list.json: invalid description"),
        ("other.json", b'{"openapi": "3.1.0", "info": {}}', "other.json: invalid description"),
        ("bad.yaml", b"a: [", "bad.yaml:"),
        ("empty.yaml", b"", "empty.yaml: invalid dialect: expected a mapping with id, title and document"),
    ],
)
def test_an_invalid_source_is_refused_in_one_line(
    tmp_path: Path, name: str, content: bytes | None, message: str
) -> None:
    path = tmp_path / name
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(ContractError) as refused:
        load_description(str(path) if path.suffix else name)
    assert message in str(refused.value)
    assert "\n" not in str(refused.value)


def test_the_command_prints_text_markdown_and_json() -> None:
    run = CliRunner().invoke
    shown = run(diff, ["mindie-1.0", "mindie"])
    assert shown.exit_code == 0
    assert shown.output.startswith("mindie-1.0 -> mindie-2.3: ")
    assert "Breaking" in shown.output
    page = run(diff, ["mindie-1.0", "mindie", "--format", "markdown"]).output
    assert "| request | top_p | minimum | > 0 | > 1e-06 |" in page.splitlines()
    report = json.loads(run(diff, ["mindie-1.0", "mindie", "--format", "json"]).output)
    assert report["counts"] == comparison.compare(describe(load("mindie-1.0")), describe(load("mindie"))).counts
    assert sum(report["counts"].values()) == len(report["differences"])
    assert report["after"] == {"dialect": "mindie-2.3", "document": "mindie-llm-2.3", "version": "2.3.0"}
    assert {"part", "place", "effect", "what", "before", "after"} == set(report["differences"][0])


def test_the_command_exits_with_0_for_any_differences_and_with_2_for_usage_errors() -> None:
    run = CliRunner().invoke
    assert [run(diff, ["mindie", other]).exit_code for other in ("mindie", "ovms")] == [0, 0]
    assert run(diff, ["mindie", "mindie-2.3"]).output == "mindie-2.3 -> mindie-2.3: no differences\n"
    wrong = run(diff, ["mindie", "unknown"])
    assert wrong.exit_code == 2
    assert wrong.stderr.startswith("chatproof: unknown dialect 'unknown': expected")
    assert run(diff, ["mindie"]).exit_code == 2


def test_bars_in_markdown_cells_are_escaped() -> None:
    assert comparison.markdown_row(["a|b", "c"]) == "| a\\|b | c |"
