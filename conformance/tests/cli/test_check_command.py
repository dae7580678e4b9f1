"""`chatproof check`: exit codes, and one clear line for every mistake that the user can fix."""

from __future__ import annotations

import html
import json
import re
from dataclasses import replace
from email.utils import formatdate
from typing import TYPE_CHECKING
from xml.etree import ElementTree as Xml

import pytest

from conformance.cli import check_command, exit_codes
from conformance.judge.check_registry import gather_checks
from conformance.report.results_file import read_results
from conformance.report.writers import WRITERS
from conformance.tests.faulty_proxy import FaultyProxy, Reply, on_replies
from openapi.contract.contract import names

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from conformance.tests.conftest import CommandResult
    from conformance.tests.faulty_proxy import Forward, Sent

UNREACHABLE = "http://127.0.0.1:9"


def one_line(result: CommandResult, code: int) -> str:
    """The one line on stderr of a command that judged nothing and wrote no file."""
    assert (code, "") == (result.code, result.stdout), result.stderr
    assert "Traceback" not in result.stderr
    (line,) = result.stderr.splitlines()
    assert line.startswith("chatproof: ")
    assert [] == [*result.folder.iterdir()]
    return line


def test_a_run_that_exchanges_nothing_keeps_the_results_of_the_run_before(
    tmp_path: Path, chatproof: Callable[..., CommandResult]
) -> None:
    (tmp_path / "results.json").write_text("of the run before", encoding="utf-8")
    result = chatproof("check", UNREACHABLE, "--dialect", "mindie", "--report", "markdown=page.md")
    assert (3, "markdown written to page.md\n") == (result.code, result.stdout)
    assert "of the run before" == (tmp_path / "results.json").read_text(encoding="utf-8")


def test_a_requested_report_on_a_server_that_cannot_be_judged_says_why(chatproof: Callable[..., CommandResult]) -> None:
    result = chatproof("check", UNREACHABLE, "--dialect", "mindie", "--report", "json=results.json")
    assert (3, "json written to results.json\n") == (result.code, result.stdout)
    assert (result.results["verdict"], result.results["requirements"]) == ("inconclusive", [])
    assert result.results["run"]["exhausted"].startswith("the server cannot be judged: ")


@pytest.mark.parametrize(
    ("url", "causes"),
    [
        (UNREACHABLE, ("refuses connections", "check the host and the port", "--wait TIME")),
        ("http://no-such-host.invalid", ("cannot be resolved", "check the host")),
    ],
)
def test_an_error_about_the_address_names_the_likely_cause(
    chatproof: Callable[..., CommandResult], url: str, causes: tuple[str, ...]
) -> None:
    line = one_line(chatproof("check", url, "--dialect", "mindie"), 3)
    assert [] == [cause for cause in causes if cause not in line]


def test_https_to_a_server_without_tls_suggests_http(honest: str, chatproof: Callable[..., CommandResult]) -> None:
    url = honest.replace("http:", "https:")
    line = one_line(chatproof("check", url, "--dialect", "mindie"), 3)
    assert line.endswith(f"the server does not use TLS. Did you mean {honest}?")


@pytest.mark.parametrize(
    "path", ["/v1/completions", "/v1/models", "/v1/embeddings", "/docs", "/openapi.json", "/v1/v1"]
)
def test_a_wrong_path_suggests_the_url_of_the_server(
    honest: str, chatproof: Callable[..., CommandResult], path: str
) -> None:
    line = one_line(chatproof("check", f"{honest}{path}", "--dialect", "mindie"), 3)
    assert line.endswith(f". Did you mean {honest}?")


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


def test_a_server_that_does_not_listen_gives_3_and_one_line(chatproof: Callable[..., CommandResult]) -> None:
    result = chatproof("check", UNREACHABLE, "--dialect", "mindie")
    assert "refuses connections: nothing listens there" in one_line(result, 3)


def test_an_unknown_host_name_gives_3(chatproof: Callable[..., CommandResult]) -> None:
    assert "no-such-host.invalid" in one_line(
        chatproof("check", "http://no-such-host.invalid", "--dialect", "mindie"), 3
    )


@pytest.mark.parametrize(
    "body", [b'{"code":702,"result":null,"message":"no"}', b'{"code":801,"result":null,"message":"no"}']
)
def test_a_key_that_is_refused_with_status_200_gives_3(chatproof: Callable[..., CommandResult], body: bytes) -> None:
    async def sin(sent: Sent, forward: Forward) -> Reply:
        return Reply(200, (body,))

    with FaultyProxy("", sin) as server:
        line = one_line(chatproof("check", server.url, "--dialect", "siliconstorm"), 3)
    assert "the server refuses the API key" in line
    assert "--api-key-env VAR" in line


def test_text_from_a_server_is_printed_without_control_characters(chatproof: Callable[..., CommandResult]) -> None:
    async def sin(sent: Sent, forward: Forward) -> Reply:
        return Reply(401, (b"\x1b]0;owned\x07\x1b[2J no entry",))

    with FaultyProxy("", sin) as server:
        line = one_line(chatproof("check", server.url, "--dialect", "mindie"), 3)
    assert line.isprintable()
    assert "no entry" in line


@pytest.mark.parametrize("kind", ["html", "junit", "markdown", "sarif"])
def test_a_report_on_a_server_that_cannot_be_judged_shows_its_text_literally(
    chatproof: Callable[..., CommandResult], kind: str
) -> None:
    async def sin(sent: Sent, forward: Forward) -> Reply:
        return Reply(401, (b"\x1b[2J no entry ![](http://h)",))

    with FaultyProxy("", sin) as server:
        result = chatproof("check", server.url, "--dialect", "mindie", "--report", f"{kind}=report")
    report = (result.folder / "report").read_text(encoding="utf-8")
    assert result.code == exit_codes.UNREACHABLE
    assert "no entry" in report
    assert "\x1b" not in report
    if kind == "markdown":
        assert any("[2J no entry ![](http://h)" in code for code in report.split("`")[1::2])


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


USAGE = {
    "an unknown dialect": (("check", UNREACHABLE, "--dialect", "telnet"), "mindie-2.3"),
    "a misspelt dialect": (("check", UNREACHABLE, "--dialect", "mindi"), "Did you mean 'mindie'?"),
    "an unknown further dialect": (
        ("check", UNREACHABLE, "--dialect", "mindie", "--also", "telnet"),
        "--also: unknown dialect 'telnet'",
    ),
    "no dialect": (("check", UNREACHABLE), "siliconstorm"),
    "no such variable": (("check", UNREACHABLE, "--dialect", "mindie", "--api-key-env", "NO_SUCH"), "NO_SUCH"),
    "an unknown kind of report": (
        ("check", UNREACHABLE, "--dialect", "mindie", "--report", "pdf=x"),
        "junit, markdown",
    ),
    "a report without a path": (("check", UNREACHABLE, "--dialect", "mindie", "--report", "junit="), "KIND=PATH"),
    "a report without a kind": (
        ("check", UNREACHABLE, "--dialect", "mindie", "--report", "junit"),
        "; for example junit=FILE",
    ),
    "a folder that is a file": (
        ("check", UNREACHABLE, "--dialect", "mindie", "--report", f"junit={__file__}/x.xml"),
        "is not a folder",
    ),
    "a folder that accepts no files": (
        ("check", UNREACHABLE, "--dialect", "mindie", "--report", "html=/proc/new/x.html"),
        "cannot write /proc/new/x.html: ",
    ),
    "a folder whose name is too long": (
        ("check", UNREACHABLE, "--dialect", "mindie", "--report", f"junit={'x' * 300}/x.xml"),
        "name too long",
    ),
    "one file for two reports": (
        ("check", UNREACHABLE, "--dialect", "mindie", "--report", "junit=x", "--report", "json=x"),
        "another report is already written to x",
    ),
    "a relative folder of media": (
        ("check", UNREACHABLE, "--dialect", "mindie", "--media-path", "relative/x"),
        "invalid --media-path 'relative/x': expected the absolute path of a folder on the server",
    ),
    "an empty folder of media": (
        ("check", UNREACHABLE, "--dialect", "mindie", "--media-path", ""),
        "invalid --media-path ''",
    ),
    "no such topic": (("check", UNREACHABLE, "--dialect", "mindie", "--topic", "nothing"), "stream"),
    "a capability without a name": (("check", UNREACHABLE, "--dialect", "mindie", "--capability", "+"), "+logprobs,-n"),
    "a capability with both signs": (("check", UNREACHABLE, "--dialect", "mindie", "--capability", "n,-n"), "both"),
    "an unknown capability": (("check", UNREACHABLE, "--dialect", "mindie", "--capability", "+x"), "no capability 'x'"),
    "no such waivers": (("check", UNREACHABLE, "--dialect", "mindie", "--waivers", "no.yaml"), "No such file"),
    "a pattern that matches nothing": (("check", UNREACHABLE, "--dialect", "mindie", "--only", "nothing"), "'nothing'"),
    "a misspelt pattern": (("check", UNREACHABLE, "--dialect", "mindie", "--only", "stop-txt"), "mean 'stop-text'?"),
    "an unsupported URL": (("check", "ftp://h", "--dialect", "mindie"), "http://HOST:PORT"),
    "an empty URL": (("check", "", "--dialect", "mindie"), "http://HOST:PORT"),
    "a model name that is not printable": (
        ("check", UNREACHABLE, "--dialect", "mindie", "--model", "m\udcff"),
        "'m\\udcff'",
    ),
    "an incomplete URL": (("check", "http://[::1", "--dialect", "mindie"), "http://[::1"),
    "a key in the URL": (("check", "http://me:secret@h", "--dialect", "mindie"), "--api-key-env"),
    "an unknown file of authorities": (("check", UNREACHABLE, "--dialect", "mindie", "--ca-file", "no.pem"), "no.pem"),
    "last failed without a run before": (
        ("check", UNREACHABLE, "--dialect", "mindie", "--last-failed"),
        "results.json is missing: run without the option first",
    ),
    "two selections": (
        ("check", UNREACHABLE, "--dialect", "mindie", "--last-failed", "--topic", "stream"),
        "mutually exclusive",
    ),
    "no such check": (("checks", "show", "stream.done"), "stream.done-last"),
    "a misspelt check": (("checks", "show", "stream.dne-last"), "similar checks: stream.done-last"),
    "an unknown dialect of checks": (("checks", "list", "--dialect", "telnet"), "mindie-2.3"),
}


@pytest.mark.parametrize("mistake", USAGE)
def test_a_usage_error_gives_2_and_one_helpful_line(chatproof: Callable[..., CommandResult], mistake: str) -> None:
    arguments, hint = USAGE[mistake]
    line = one_line(chatproof(*arguments), 2)
    assert hint in line
    assert "secret" not in line


def test_the_error_for_an_unknown_dialect_lists_all_dialects(chatproof: Callable[..., CommandResult]) -> None:
    line = one_line(chatproof("check", UNREACHABLE, "--dialect", "telnet"), 2)
    assert not [name for name in names() if name not in line]


def test_the_error_for_an_unknown_capability_lists_those_of_the_dialect(
    honest: str, chatproof: Callable[..., CommandResult]
) -> None:
    line = one_line(chatproof("check", honest, "--dialect", "mindie", "--capability", "telepathy"), 2)
    assert "'telepathy'" in line
    assert "logprobs" in line


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("--max-requests", "0"),
        ("--max-tokens", "0"),
        ("--max-time", "0"),
        ("--rate", "0"),
        ("--timeout", "-1"),
        ("--concurrency", "0"),
    ],
)
def test_a_limit_of_zero_is_refused(chatproof: Callable[..., CommandResult], option: str, value: str) -> None:
    result = chatproof("check", UNREACHABLE, "--dialect", "mindie", option, value)
    assert result.code == 2
    assert option in result.stderr


@pytest.mark.parametrize("key", ["q7-z", "with a space in it", "schlüssel-ohne-ascii"])
def test_a_key_that_cannot_be_hidden_or_sent_is_refused_and_not_shown(
    chatproof: Callable[..., CommandResult], monkeypatch: pytest.MonkeyPatch, key: str
) -> None:
    monkeypatch.setenv("CANARY", key)
    line = one_line(chatproof("check", UNREACHABLE, "--dialect", "siliconstorm", "--api-key-env", "CANARY"), 2)
    assert "CANARY" in line
    assert key not in line


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


def test_a_waiver_for_an_unknown_requirement_is_refused_before_anything_is_sent(
    chatproof: Callable[..., CommandResult], tmp_path: Path
) -> None:
    waiver = "- {{id: {}, reason: a proxy, owner: me, expires: 2999-01-01}}"
    (tmp_path / "none.yaml").write_text(waiver.format("stream.done-lst"))
    result = chatproof("check", UNREACHABLE, "--dialect", "mindie", "--waivers", "none.yaml")
    words = "--waivers none.yaml: 'stream.done-lst' matches no requirement. Did you mean 'stream.done-last'?"
    assert (2, f"chatproof: {words}\n") == (result.code, result.stderr)
    (tmp_path / "other.yaml").write_text(waiver.format("stream.usage-on-request"))  # of another dialect
    assert 3 == chatproof("check", UNREACHABLE, "--dialect", "mindie", "--waivers", "other.yaml").code


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


def without_done(sent: Sent, reply: Reply) -> Reply:
    """Leave the last event of every stream out."""
    pieces = tuple(piece for piece in reply.pieces if b"[DONE]" not in piece)
    return replace(reply, pieces=tuple(piece.replace(b"data: [DONE]\n\n", b"") for piece in pieces))


def test_failures_are_shown_while_the_run_goes_on_and_the_last_failed_are_sent_alone(
    honest: str, chatproof: Callable[..., CommandResult]
) -> None:
    with FaultyProxy(honest, on_replies(without_done)) as server:
        words = ("check", server.url, "--dialect", "mindie")
        whole = chatproof(*words, "--topic", "stream")
        again = chatproof(*words, "--last-failed")
    assert (1, 1) == (whole.code, again.code), whole.stderr + again.stderr
    lines = whole.stdout.splitlines()
    (live,) = [number for number, line in enumerate(lines) if line.startswith("FAIL MUST stream.done-last ")]
    assert live < lines.index("FAIL  MUST stream.done-last")
    assert ["stream.done-last"] == [row["id"] for row in again.results["requirements"] if row["fails"]]
    assert ["stream.done-last"] == again.results["run"]["only"]


def test_a_run_ends_at_the_first_failure_if_asked_and_is_not_conformant(
    honest: str, chatproof: Callable[..., CommandResult]
) -> None:
    with FaultyProxy(honest, on_replies(without_done)) as server:
        result = chatproof("check", server.url, "--dialect", "mindie", "--topic", "stream", "--fail-fast")
    assert 1 == result.code
    assert "nonconformant" == result.results["verdict"]
    assert "--fail-fast: stream.done-last failed" == result.results["run"]["exhausted"]
    assert len(result.results["exchanges"]) < 40


def test_nothing_is_sent_if_nothing_failed_before(honest: str, chatproof: Callable[..., CommandResult]) -> None:
    words = ("check", honest, "--dialect", "mindie", "--only", "conversation")
    assert 0 == chatproof(*words).code
    result = chatproof("check", UNREACHABLE, "--dialect", "mindie", "--last-failed")
    assert (0, "no requirement failed in the run before; nothing was sent\n") == (result.code, result.stdout)


def test_the_last_failed_are_only_those_that_single_requests_show(
    honest: str, tmp_path: Path, chatproof: Callable[..., CommandResult]
) -> None:
    words = ("check", honest, "--dialect", "mindie")
    assert 0 == chatproof(*words, "--only", "conversation").code
    file = tmp_path / "results.json"
    content = json.loads(file.read_text(encoding="utf-8"))
    row = content["requirements"][0]
    content["requirements"] = [{**row, "id": name, "fails": True} for name in ("server.whole", "stream.done-last")]
    file.write_text(json.dumps(content), encoding="utf-8")
    result = chatproof(*words, "--last-failed")
    assert (0, ["stream.done-last"]) == (result.code, result.results["run"]["only"])
    file.write_text(json.dumps({**content, "requirements": content["requirements"][:1]}), encoding="utf-8")
    result = chatproof(*words, "--last-failed")
    assert (2, True) == (result.code, "only a whole run shows server.whole" in result.stderr)
