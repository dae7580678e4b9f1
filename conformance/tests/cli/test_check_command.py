"""`chatproof check`: exit codes, reports, waivers and selections."""

from __future__ import annotations

import html
import json
import re
from dataclasses import replace
from email.utils import formatdate
from typing import TYPE_CHECKING
from xml.etree import ElementTree as Xml

from conformance.cli import check_command
from conformance.judge.check_registry import gather_checks
from conformance.report.results_file import read_results
from conformance.report.writers import WRITERS
from conformance.tests.faulty_proxy import FaultyProxy, Reply, on_replies

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    import pytest

    from conformance.tests.conftest import CommandResult
    from conformance.tests.faulty_proxy import Forward, Sent


def test_a_conformant_server_gives_0_and_a_results_file(honest: str, chatproof: Callable[..., CommandResult]) -> None:
    result = chatproof("check", honest, "--dialect", "mindie", "--only", "conversation")
    assert (result.code, result.stderr) == (0, "")
    assert result.results["verdict"] == "conformant"
    assert "json written to results.json" in result.stdout


def test_a_selection_that_exercises_nothing_is_inconclusive_in_every_report(
    honest: str, chatproof: Callable[..., CommandResult], tmp_path: Path
) -> None:
    kinds = sorted(set(WRITERS) - {"json", "har"})  # an HTTP archive has no verdict
    reports = [part for kind in kinds for part in ("--report", f"{kind}={kind}.out")]
    checked = chatproof("check", honest, "--dialect", "mindie", "--only", "http.body-decodable", *reports)
    why = checked.results["run"]["unjudged"]
    assert (checked.code, checked.results["verdict"]) == (4, "inconclusive")
    assert re.match(r"1 selected requirement was not exercised \(.+\); select more", why)
    texts = {kind: (tmp_path / f"{kind}.out").read_text("utf-8") for kind in kinds}
    judged = chatproof("judge", "results.json")
    texts |= {"check": checked.stdout, "judge": judged.stdout}
    texts["matrix"] = chatproof("matrix", "results.json", "--report", "markdown=m.md").stdout
    texts["matrix page"] = (tmp_path / "m.md").read_text("utf-8")
    only_reason = {"github", "sarif"}
    assert {kind for kind, text in texts.items() if "inconclusive" not in text} == only_reason
    assert {kind for kind, text in texts.items() if why not in html.unescape(text).replace("\\", "")} == {
        "badge",
        "matrix",
        "matrix page",
    }
    assert judged.code == 4
    case = Xml.fromstring(texts["junit"]).find("testcase[@classname='chatproof.run']/error")
    assert case is not None


def test_a_selection_that_does_not_apply_to_the_server_is_inconclusive(
    honest: str, chatproof: Callable[..., CommandResult]
) -> None:
    result = chatproof(
        "check",
        honest,
        "--dialect",
        "mindie",
        "--topic",
        "media",
        "--capability=-media",
        "--report",
        "json=results.json",
    )
    assert (result.code, result.results["verdict"]) == (4, "inconclusive")
    assert result.results["run"]["unjudged"].startswith("none of the selected requirements applies to a server with ")


def test_a_violated_should_gives_1_only_with_strict(honest: str, chatproof: Callable[..., CommandResult]) -> None:
    def change(sent: Sent, reply: Reply) -> Reply:
        return replace(reply, headers={"Content-Type": "text/plain"})

    with FaultyProxy(honest, on_replies(change)) as server:
        arguments = ("check", server.url, "--dialect", "mindie", "--only", "conversation")
        codes = [chatproof(*arguments).code, chatproof(*arguments, "--strict").code]
    assert codes == [0, 1]


def test_commands_name_the_variable_that_has_the_key(
    honest: str, chatproof: Callable[..., CommandResult], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TEAM_KEY", "a-key-that-is-long-enough")
    words = ["--only", "conversation", "--only", "usage.total-is-sum", "--strict", "--api-key-env", "TEAM_KEY"]
    words += ["--annotate", "server.yaml"]
    with FaultyProxy(honest, on_replies(lambda sent, reply: replace(reply, headers={}))) as server:
        result = chatproof("check", server.url, "--dialect", "mindie", *words, "--report", "html=page.html")
        again = chatproof("judge", "results.json", "--report", "json=again.json")
    assert 1 == result.code == again.code, result.stderr
    for text in (result.stdout, again.stdout, (result.folder / "again.json").read_text("utf-8")):
        assert "$TEAM_KEY" in text
        assert "$API_KEY" not in text
    again_results = read_results(result.folder / "again.json")
    assert ("server.yaml", "TEAM_KEY") == (again_results["run"]["annotate"], again_results["target"]["key_variable"])
    assert "a-key-that-is-long-enough" not in (result.folder / "results.json").read_text("utf-8")


def test_a_model_name_with_markup_is_printed_literally(honest: str, chatproof: Callable[..., CommandResult]) -> None:
    name = "[/] \x1b[2J[red]"

    async def sin(sent: Sent, forward: Forward) -> Reply:
        if sent.path.endswith("/models"):
            return Reply(200, (json.dumps({"object": "list", "data": [{"id": name, "object": "model"}]}).encode(),))
        return await forward(sent.saying(model="mindie") if sent.method == "POST" else sent)

    with FaultyProxy(honest, sin) as server:
        result = chatproof("check", server.url, "--dialect", "mindie", "--only", "answer.object-named")
    assert result.code == 0, result.stderr
    assert "[/] \ufffd[2J[red]" in result.stdout
    assert "\x1b" not in result.stdout
    assert result.results["target"]["model"] == name


def test_a_budget_that_ran_out_gives_4_and_a_partial_report(
    honest: str, chatproof: Callable[..., CommandResult]
) -> None:
    result = chatproof("check", honest, "--dialect", "mindie", "--max-requests", "5")
    assert result.code == 4, result.stderr
    assert (
        result.results["verdict"],
        result.results["run"]["requests"],
        result.results["run"]["exhausted"],
    ) == ("inconclusive", 5, "--max-requests 5")
    assert 3 == len(result.results["exchanges"])  # the two chat requests of the preflight count, too


def test_an_internal_error_of_a_check_gives_5_and_is_not_reported_as_a_failure(
    honest: str, chatproof: Callable[..., CommandResult], monkeypatch: pytest.MonkeyPatch
) -> None:
    def judge(*_: object) -> None:
        raise ValueError("a slip")

    checks = gather_checks()
    checks["answer.id-given"] = replace(checks["answer.id-given"], judge=judge)  # type: ignore[arg-type]
    monkeypatch.setattr("conformance.run.drafting.gather_checks", lambda _: checks)
    result = chatproof("check", honest, "--dialect", "mindie", "--only", "conversation")
    assert result.code == 5, result.stderr
    rows = {row["id"]: row for row in result.results["requirements"]}
    assert (
        rows["answer.id-given"]["outcome"],
        rows["answer.id-given"]["note"],
    ) == ("ERROR", "answer.id-given: ValueError: a slip")
    assert (result.results["verdict"], result.results["counts"]["FAIL"]) == ("inconclusive", 0)


def test_reports_are_written_to_the_given_files(
    honest: str, chatproof: Callable[..., CommandResult], tmp_path: Path
) -> None:
    result = chatproof(
        "check", honest, "--dialect", "mindie", "--only", "conversation",
        "--report", "json=out/new/r.json", "--report", "junit=out/j.xml", "--report", "markdown=out/p.md",
    )  # fmt: skip
    assert result.code == 0, result.stderr
    written = [path for path in (tmp_path / "out").rglob("*") if path.is_file()]
    assert ["j.xml", "p.md", "r.json"] == sorted(path.name for path in written)
    assert not (tmp_path / "results.json").exists()


def test_two_reports_of_one_kind_are_both_written(honest: str, chatproof: Callable[..., CommandResult]) -> None:
    arguments = ("check", honest, "--dialect", "mindie", "--only", "conversation")
    result = chatproof(*arguments, "--report", "junit=a.xml", "--report", "junit=b.xml")
    assert sorted(path.name for path in result.folder.iterdir()) == ["a.xml", "b.xml", "results.json"]


def test_a_waived_failure_does_not_fail_the_run_and_an_unneeded_waiver_does(
    honest: str, chatproof: Callable[..., CommandResult], tmp_path: Path
) -> None:
    def change(sent: Sent, reply: Reply) -> Reply:
        return replace(reply, headers={"Content-Type": "text/plain", "Date": formatdate(usegmt=True)})

    (tmp_path / "w.yaml").write_text("- {id: '*-content-type', reason: a proxy, owner: me, expires: 2999-01-01}")
    arguments = ("--dialect", "mindie", "--only", "conversation", "--strict", "--waivers", "w.yaml")
    with FaultyProxy(honest, on_replies(change)) as server:
        waived = chatproof("check", server.url, *arguments)
    rows = {row["id"]: row for row in waived.results["requirements"] if row["outcome"] == "WAIVED"}
    assert (waived.code, bool(rows)) == (0, True), waived.stdout
    assert {"me"} == {row["waiver"]["owner"] for row in rows.values()}
    unneeded = chatproof("check", honest, *arguments)
    assert unneeded.code == 1
    assert [row["id"] for row in unneeded.results["requirements"] if row["fails"]] == ["waivers.*-content-type"]


def test_the_capability_option_overrides_the_server(honest: str, chatproof: Callable[..., CommandResult]) -> None:
    result = chatproof("check", honest, "--dialect", "mindie", "--only", "conversation", "--capability", "+n,-logprobs")
    origins = result.results["target"]["capability_origins"]
    assert origins["n"] == {"status": "declared", "from": "the command line"}
    assert origins["logprobs"] == {"status": "denied", "from": "the command line"}
    assert origins["best_of"] == {"status": "declared", "from": "the server's /openapi.json"}


def test_all_dialects_are_judged_in_turn_with_separate_files(
    honest: str, chatproof: Callable[..., CommandResult], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        check_command, "names", lambda: {"mindie": "mindie-2.3", "mindie-2.3": "mindie-2.3", "mindie-1.0": "mindie-1.0"}
    )
    result = chatproof("check", honest, "--dialect", "all", "--only", "conversation")
    assert result.code == 0, result.stdout
    assert sorted(path.name for path in result.folder.iterdir()) == [
        "results.mindie-1.0.json",
        "results.mindie-2.3.json",
    ]


def test_the_help_lists_the_options(chatproof: Callable[..., CommandResult]) -> None:
    result = chatproof("check", "--help")
    assert result.code == 0
    for option in ("--dialect", "--only", "--strict", "--dry-run", "--max-requests", "--max-time", "--report"):
        assert option in result.stdout
