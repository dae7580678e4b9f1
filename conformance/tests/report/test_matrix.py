"""The matrix of deployments: which runs belong together, what differs, its trend, and that no text in it can act."""

from __future__ import annotations

import io
import json
from copy import deepcopy
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

import jsonschema_rs
import pytest
from rich.console import Console

from conformance.errors import UsageError
from conformance.report import results
from conformance.report.comparison import deployment_runs, matrix_markdown, matrix_page
from conformance.report.comparison.deployment_matrix import compare_deployments, format_time
from conformance.report.comparison.deployment_runs import read_deployments
from conformance.report.comparison.matrix_table import matrix_tables
from conformance.report.comparison.matrix_writers import MATRIX_WRITERS, load_schema
from conformance.report.results import to_json
from conformance.tests.report.hostile_results import CONTROL, HOSTILE, hostile, outside_code
from conformance.tests.report.judgements import results_with_failures
from conformance.tests.report.test_page import CHROMIUM, Page, browse

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from conformance.report.comparison.deployment_matrix import DeploymentMatrix
    from conformance.tests.conftest import CommandResult, Good

NOW = version("chatproof")
MONDAY, TUESDAY = "2026-11-23T10:00:00+00:00", "2026-11-24T10:00:00+00:00"


def write(path: Path, content: dict[str, Any], started_at: str = MONDAY) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    content = {**content, "run": {**content["run"], "started_at": started_at}}
    path.write_text(json.dumps(content), encoding="utf-8")
    return path


@pytest.fixture
def bad(read_good: Callable[[str], Good]) -> dict[str, Any]:
    return json.loads("".join(to_json(results_with_failures(read_good("mindie-2.3")))))  # type: ignore[no-any-return]


@pytest.fixture
def fine(read_good: Callable[[str], Good]) -> dict[str, Any]:
    return json.loads(read_good("mindie-2.3").results)  # type: ignore[no-any-return]


@pytest.fixture
def folder(tmp_path: Path, bad: dict[str, Any], fine: dict[str, Any]) -> Path:
    """A deployment that got better from Monday to Tuesday, and one that is bad."""
    write(tmp_path / "runs" / "east" / "b.json", fine, TUESDAY)
    write(tmp_path / "runs" / "east" / "c.json", bad, MONDAY)
    write(tmp_path / "runs" / "west" / "a.json", bad, MONDAY)
    return tmp_path / "runs"


def matrix_of(*sources: object) -> DeploymentMatrix:
    return compare_deployments(read_deployments(map(str, sources)))


def test_runs_of_a_subfolder_are_runs_of_one_deployment_in_the_order_of_their_time(folder: Path) -> None:
    deployments = read_deployments([str(folder)])
    expected = {"east": [MONDAY, TUESDAY], "west": [MONDAY]}
    assert expected == {item.name: [run.started_at for run in item.runs] for item in deployments}
    assert ["nonconformant", "conformant"] == [run.verdict for run in deployments[0].runs]


def test_a_file_is_named_by_its_address_or_by_the_user(tmp_path: Path, fine: dict[str, Any]) -> None:
    file = write(tmp_path / "a.json", fine)
    (by_address,) = read_deployments([str(file)])
    assert fine["target"]["url"].partition("://")[2].partition("/")[0] == by_address.name
    (named,) = read_deployments([f"mine={file}"])
    assert "mine" == named.name


def test_another_file_in_a_folder_is_one_line_that_says_how_to_leave_it_out(
    tmp_path: Path, fine: dict[str, Any]
) -> None:
    write(tmp_path / "a.json", fine)
    (tmp_path / "load.json").write_text("{}", encoding="utf-8")
    with pytest.raises(UsageError) as caught:
        read_deployments([str(tmp_path)])
    assert "load.json: not a results file of chatproof: " in str(caught.value)
    assert str(caught.value).endswith(f"; name the results files in place of the folder {tmp_path}")


def test_the_cells_are_the_outcomes_of_the_last_runs(folder: Path, bad: dict[str, Any], fine: dict[str, Any]) -> None:
    rows = {row.id: row for row in matrix_of(folder).rows}
    last = [{row["id"]: row["outcome"] for row in content["requirements"]} for content in (fine, bad)]
    assert {name: [outcomes.get(name, "") for outcomes in last] for name in {*last[0], *last[1]}} == {
        name: [cell.outcome for cell in row.cells] for name, row in rows.items()
    }
    failing = next(row["id"] for row in bad["requirements"] if row["outcome"] == "FAIL" and row["findings"])
    assert (("FAIL", last[0][failing]), True) == (rows[failing].cells[0].history, rows[failing].has_changed)


@pytest.mark.parametrize(("change", "extent"), [({"depth": "quick"}, "quick"), ({"only": ["stream.*"]}, "selected")])
def test_every_form_says_that_numbers_of_runs_of_different_extents_cannot_be_compared(
    tmp_path: Path, fine: dict[str, Any], change: dict[str, Any], extent: str
) -> None:
    whole = write(tmp_path / "whole.json", {**fine, "run": {**fine["run"], "depth": "thorough"}})
    part = write(tmp_path / "part.json", {**fine, "run": {**fine["run"], **change}})
    expected = f"The runs judged to different extents, so their numbers cannot be compared (thorough: a; {extent}: b)."
    matrix = matrix_of(f"a={whole}", f"b={part}")
    assert expected == matrix.caveat
    console = Console(file=io.StringIO(), width=300)
    for item in matrix_tables(matrix):
        console.print(item)
    printed = console.file.getvalue()  # type: ignore[attr-defined]
    for text in (printed, matrix_markdown.write(matrix), matrix_page.write(matrix)):
        assert expected in text
    assert "" == matrix_of(f"a={whole}", f"b={whole}").caveat


def test_what_most_deployments_violate_comes_first(folder: Path) -> None:
    numbers = [sum(cell.outcome in ("FAIL", "WARN") for cell in row.cells) for row in matrix_of(folder).rows]
    assert sorted(numbers, reverse=True) == numbers
    assert numbers[0] > 0


def test_every_form_has_the_change_of_the_second_run(folder: Path, bad: dict[str, Any]) -> None:
    matrix = matrix_of(folder)
    failing = [row["id"] for row in bad["requirements"] if row["outcome"] == "FAIL" and row["findings"]]
    data = json.loads(MATRIX_WRITERS["json"](matrix))
    assert set(failing) <= set(data["deployments"][0]["runs"][1]["changes"]["better"])
    assert [item["name"] for item in data["deployments"]] == ["east", "west"]
    assert f"## Runs of `{matrix.label(matrix.deployments[0])}`" in matrix_markdown.write(matrix)
    assert " better: " in matrix_page.write(matrix)


def test_every_form_shows_which_chatproof_judged_a_run(folder: Path, tmp_path: Path, fine: dict[str, Any]) -> None:
    """A verdict of an older version is that of its own rules, which may have changed."""
    old = {**fine, "tool": {"name": "chatproof", "version": "0.1.7"}}
    matrix = matrix_of(folder, f"old={write(tmp_path / 'old.json', old)}")
    versions = [
        [run["version"] for run in item["runs"]] for item in json.loads(MATRIX_WRITERS["json"](matrix))["deployments"]
    ]
    assert [[NOW, NOW], [NOW], ["0.1.7"]] == versions
    (row,) = (line for line in matrix_markdown.write(matrix).splitlines() if line.startswith("| `old`"))
    assert "| `0.1.7` | conformant |" in row
    assert 2 == matrix_page.write(matrix).count("<td>0.1.7</td>")
    assert "0.1.7" in printed(matrix)
    assert NOW not in printed(matrix_of(folder))


def printed(matrix: DeploymentMatrix) -> str:
    shown = io.StringIO()
    for table in matrix_tables(matrix):
        Console(file=shown, width=100, highlight=False).print(table)
    return shown.getvalue()


def schema_problems(data: dict[str, Any]) -> list[str]:
    """The violations of the schema."""
    validator = jsonschema_rs.validator_for(load_schema())
    return [f"{error.instance_path}: {error.message}" for error in validator.iter_errors(data)]


def test_the_json_form_fits_its_schema(folder: Path, fine: dict[str, Any], read_good: Callable[[str], Good]) -> None:
    jsonschema_rs.meta.validate(load_schema())
    assert [] == schema_problems(json.loads(MATRIX_WRITERS["json"](matrix_of(folder))))
    other = write(folder.parent / "other.json", json.loads(read_good("openai").results))
    two_dialects = json.loads(MATRIX_WRITERS["json"](matrix_of(folder, other)))
    assert any(cell is None for row in two_dialects["requirements"] for cell in row["deployments"])
    assert [] == schema_problems(two_dialects)


@pytest.mark.parametrize(
    ("place", "value"),
    [
        (("schema_version",), 2),
        (("tool", "name"), "other"),
        (("deployments",), []),
        (("deployments", 0, "verdict"), "fine"),
        (("deployments", 0, "runs"), []),
        (("deployments", 0, "runs", 0, "counts", "PASS"), -1),
        (("deployments", 0, "runs", 0, "counts", "GOOD"), 1),
        (("deployments", 0, "runs", 0, "changes"), {}),
        (("requirements", 0, "keywords"), ["OUGHT"]),
        (("requirements", 0, "deployments", 0), {}),
        (("requirements", 0, "deployments", 0, "outcome"), "GOOD"),
        (("requirements", 0, "deployments", 0, "history"), ["GOOD"]),
        (("requirements", 0, "deployments", 0, "findings"), [{"where": "here"}]),
    ],
)
def test_the_schema_refuses_a_changed_matrix(folder: Path, place: tuple[Any, ...], value: object) -> None:
    data = json.loads(MATRIX_WRITERS["json"](matrix_of(folder)))
    *parents, last = place
    parent = data
    for key in parents:
        parent = parent[key]
    parent[last] = value
    assert schema_problems(data)


def test_the_schema_has_the_outcomes_verdicts_and_findings_of_results() -> None:
    own, theirs = load_schema()["$defs"], results.load_schema()["properties"]
    row = theirs["requirements"]["items"]["properties"]
    assert (row["outcome"], theirs["verdict"]) == (own["outcome"], own["verdict"])
    assert row["findings"]["items"]["required"] == own["cell"]["properties"]["findings"]["items"]["required"]


def test_tables_of_markdown_keep_their_columns(folder: Path) -> None:
    lines = [line for line in matrix_markdown.write(matrix_of(folder)).splitlines() if line.startswith("| ")]
    assert {3, 7, 12} == {line.replace("\\|", "").count("|") - 1 for line in lines}


@pytest.mark.parametrize("name", sorted(set(HOSTILE) - {"surrogate"}))
def test_no_text_of_a_server_can_act_in_any_form(tmp_path: Path, read_good: Callable[[str], Good], name: str) -> None:
    content = hostile(read_good("mindie-2.3"), HOSTILE[name])
    content["tool"]["version"] = HOSTILE[name]
    for row in content["requirements"]:
        row["findings"] = row["findings"][:2]  # a longer file is refused
    content["requirements"][0] |= {"id": HOSTILE[name], "causes": [HOSTILE[name]]}
    sources = [f"{number}={write(tmp_path / f'{number}.json', content)}" for number in (1, 2)]
    matrix = matrix_of(*sources)
    read = Page(page := matrix_page.write(matrix))
    tags = [tag for tag, _ in read.elements]
    assert (1, 1) == (tags.count("script"), tags.count("style"))
    assert set() == set(tags) & {"img", "base", "iframe", "object", "link"}
    assert all(value.startswith("#") for value in read.values("href"))
    assert not [attribute for _, given in read.elements for attribute in given if attribute.startswith("on")]
    assert not CONTROL.search(page)
    assert not CONTROL.search(printed(matrix))
    assert json.loads(MATRIX_WRITERS["json"](matrix))
    markdown = matrix_markdown.write(matrix)
    assert not CONTROL.search(markdown)
    rest = outside_code(markdown)
    assert not [word for word in ("<", "http", "[", "::", "@", "evil") if word in rest]


def test_a_site_has_a_page_and_a_badge_for_each_run_and_its_links_lead_to_files(
    folder: Path, tmp_path: Path, chatproof: Callable[..., CommandResult]
) -> None:
    site = tmp_path / "site"
    result = chatproof("matrix", str(folder), "--site", str(site))
    assert (0, True) == (result.code, "4 pages written" in result.stdout), result.stderr
    assert 3 == len(list((site / "runs").iterdir())) == len(list((site / "badges").iterdir()))
    links = {link.partition("#") for link in Page((site / "index.html").read_text("utf-8")).values("href")}
    for file, _, anchor in links:
        page = (site / (file or "index.html")).read_text("utf-8")
        assert not anchor or f'id="{anchor}"' in page, (file, anchor)
    assert {"matrix.json", "matrix.md"} <= {path.name for path in site.iterdir()}


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["none.json"], "cannot read none.json: No such file or directory"),
        (["empty"], "empty: the folder has no results files (.json, .json.gz)"),
        (["=x"], "invalid source '=x': expected FILE, FOLDER or NAME=FILE"),
        (["cut.json"], "cut.json: not a results file of chatproof: invalid JSON at line 1; the file may be incomplete"),
        (["future.json"], "future.json: it has schema version 99, and this chatproof reads up to 4: update chatproof"),
        (["good.json", "--report", "junit=x"], "invalid --report 'junit=x': expected KIND=PATH, where KIND is one of"),
        (["good.json", "--report", "html=empty"], "cannot write empty: it is a folder"),
        ([".", "--site", "site"], "invalid --site site: it is in ., whose files are read as results"),
    ],
)
def test_a_mistake_is_one_line(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    chatproof: Callable[..., CommandResult],
    fine: dict[str, Any],
    words: list[str],
    expected: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "empty").mkdir()
    write(tmp_path / "good.json", fine)
    write(tmp_path / "future.json", {**fine, "schema_version": 99})
    (tmp_path / "cut.json").write_text('{"schema_version": 4, "tool"', encoding="utf-8")
    result = chatproof("matrix", *words)
    assert (2, True) == (result.code, expected in result.stderr), result.stderr
    assert 1 == result.stderr.count("\n")


def test_only_what_is_shown_of_a_run_is_kept(tmp_path: Path, fine: dict[str, Any]) -> None:
    run = deployment_runs.summarize_run(deepcopy(fine), tmp_path)
    assert all(len(row["findings"]) < 2 for row in run.rows.values())
    with pytest.raises(UsageError, match="cannot read"):
        read_deployments([str(tmp_path / "missing")])


def test_times_are_shown_in_utc() -> None:
    assert "2026-11-23 09:00 UTC" == format_time("2026-11-23T10:00:00+01:00")
    assert "soon" == format_time("soon")


@pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium")
def test_a_browser_filters_the_rows(folder: Path, tmp_path: Path) -> None:
    page = tmp_path / "matrix.html"
    page.write_text(matrix_page.write(matrix_of(folder)), encoding="utf-8")
    shown = browse(page)
    total = len(matrix_of(folder).rows)
    assert f" of {total} requirements</output>" in shown
    assert f">{total} of {total}" not in shown
