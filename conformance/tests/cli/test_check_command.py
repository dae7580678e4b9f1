"""The command line: exit codes, and one clear line for everything that a user can mend."""

from __future__ import annotations

import json
from dataclasses import replace
from email.utils import formatdate
from typing import TYPE_CHECKING

import pytest

from conformance.cli import check_command as command
from conformance.judge.check_registry import gather_checks
from conformance.tests.faulty_proxy import Reply, Sinner, on_replies
from openapi.contract.contract import names

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from conformance.tests.conftest import Said
    from conformance.tests.faulty_proxy import Forward, Sent

NOBODY = "http://127.0.0.1:9"


def one_line(said: Said, code: int) -> str:
    """The one line on stderr, after which nothing was written."""
    assert code == said.code, said.stderr
    assert "Traceback" not in said.stdout + said.stderr
    (line,) = said.stderr.splitlines()
    assert line.startswith("chatproof: ")
    assert not list(said.folder.iterdir())
    return line


def test_a_conformant_server_gives_0_and_a_results_file(honest: str, chatproof: Callable[..., Said]) -> None:
    said = chatproof("check", honest, "--dialect", "mindie", "--only", "conversation")
    assert (said.code, said.stderr) == (0, "")
    assert said.results["verdict"] == "conformant"
    assert "json written to results.json" in said.stdout


def test_a_broken_should_gives_1_only_where_it_was_asked_for(honest: str, chatproof: Callable[..., Said]) -> None:
    def change(sent: Sent, reply: Reply) -> Reply:
        return replace(reply, headers={"Content-Type": "text/plain"})

    with Sinner(honest, on_replies(change)) as server:
        arguments = ("check", server.url, "--dialect", "mindie", "--only", "conversation")
        codes = [chatproof(*arguments).code, chatproof(*arguments, "--strict").code]
    assert codes == [0, 1]


def test_nobody_listening_gives_3_and_one_line(chatproof: Callable[..., Said]) -> None:
    said = chatproof("check", NOBODY, "--dialect", "mindie")
    assert "refuses connections: nothing listens there; --wait S waits for a server" in one_line(said, 3)
    assert said.stdout == ""


def test_a_name_that_nobody_has_gives_3(chatproof: Callable[..., Said]) -> None:
    assert "no-such-host.invalid" in one_line(
        chatproof("check", "http://no-such-host.invalid", "--dialect", "mindie"), 3
    )


@pytest.mark.parametrize(
    "body", [b'{"code":702,"result":null,"message":"no"}', b'{"code":801,"result":null,"message":"no"}']
)
def test_a_key_that_is_refused_with_status_200_gives_3(chatproof: Callable[..., Said], body: bytes) -> None:
    async def sin(sent: Sent, forward: Forward) -> Reply:
        return Reply(200, (body,))

    with Sinner("", sin) as server:
        line = one_line(chatproof("check", server.url, "--dialect", "siliconstorm"), 3)
    assert "the server refuses the key" in line
    assert "--api-key-env VAR" in line


def test_what_a_server_says_reaches_the_terminal_without_its_control_bytes(chatproof: Callable[..., Said]) -> None:
    async def sin(sent: Sent, forward: Forward) -> Reply:
        return Reply(401, (b"\x1b]0;owned\x07\x1b[2J no entry",))

    with Sinner("", sin) as server:
        line = one_line(chatproof("check", server.url, "--dialect", "mindie"), 3)
    assert line.isprintable()
    assert "no entry" in line


def test_a_hostile_name_of_a_model_is_only_a_name(honest: str, chatproof: Callable[..., Said]) -> None:
    name = "[/] \x1b[2J[red]"

    async def sin(sent: Sent, forward: Forward) -> Reply:
        if sent.path.endswith("/models"):
            return Reply(200, (json.dumps({"object": "list", "data": [{"id": name, "object": "model"}]}).encode(),))
        return await forward(sent.saying(model="mindie") if sent.method == "POST" else sent)

    with Sinner(honest, sin) as server:
        said = chatproof("check", server.url, "--dialect", "mindie", "--only", "answer.object-named")
    assert said.code == 0, said.stderr
    assert "[/] \ufffd[2J[red]" in said.stdout
    assert "\x1b" not in said.stdout
    assert said.results["target"]["model"] == name


def test_a_budget_that_ran_out_gives_4_and_a_partial_report(honest: str, chatproof: Callable[..., Said]) -> None:
    said = chatproof("check", honest, "--dialect", "mindie", "--max-requests", "5")
    assert said.code == 4, said.stderr
    assert (
        said.results["verdict"],
        said.results["run"]["requests"],
        said.results["run"]["exhausted"],
    ) == ("inconclusive", 5, "--max-requests 5")
    assert len(said.results["exchanges"]) == 5


def test_a_defect_of_a_check_gives_5_and_is_never_the_servers(
    honest: str, chatproof: Callable[..., Said], monkeypatch: pytest.MonkeyPatch
) -> None:
    def judge(*_: object) -> None:
        raise ValueError("a slip")

    checks = gather_checks()
    checks["answer.id-given"] = replace(checks["answer.id-given"], judge=judge)  # type: ignore[arg-type]
    monkeypatch.setattr("conformance.run.drafting.gather_checks", lambda: checks)
    said = chatproof("check", honest, "--dialect", "mindie", "--only", "conversation")
    assert said.code == 5, said.stderr
    rows = {row["id"]: row for row in said.results["requirements"]}
    assert (
        rows["answer.id-given"]["outcome"],
        rows["answer.id-given"]["note"],
    ) == ("ERROR", "answer.id-given: ValueError: a slip")
    assert (said.results["verdict"], said.results["counts"]["FAIL"]) == ("inconclusive", 0)


USAGE = {
    "an unknown dialect": (("check", NOBODY, "--dialect", "telnet"), "mindie-2.3"),
    "a dialect misspelt": (("check", NOBODY, "--dialect", "mindi"), "Did you mean 'mindie'?"),
    "an unknown dialect beside": (("check", NOBODY, "--dialect", "mindie", "--also", "telnet"), "--also 'telnet'"),
    "no dialect": (("check", NOBODY), "siliconstorm"),
    "no such variable": (("check", NOBODY, "--dialect", "mindie", "--api-key-env", "NO_SUCH"), "NO_SUCH"),
    "a kind of report that is not": (("check", NOBODY, "--dialect", "mindie", "--report", "pdf=x"), "junit, markdown"),
    "a report without a path": (("check", NOBODY, "--dialect", "mindie", "--report", "junit="), "KIND=PATH"),
    "a report without a kind": (("check", NOBODY, "--dialect", "mindie", "--report", "junit"), "KIND=PATH"),
    "a folder that is a file": (
        ("check", NOBODY, "--dialect", "mindie", "--report", f"junit={__file__}/x.xml"),
        "none that you may write in",
    ),
    "a folder whose name is too long": (
        ("check", NOBODY, "--dialect", "mindie", "--report", f"junit={'x' * 300}/x.xml"),
        "name too long",
    ),
    "one file for two reports": (
        ("check", NOBODY, "--dialect", "mindie", "--report", "junit=x", "--report", "json=x"),
        "two reports cannot share the file x",
    ),
    "no such topic": (("check", NOBODY, "--dialect", "mindie", "--topic", "nothing"), "stream"),
    "a capability of no name": (("check", NOBODY, "--dialect", "mindie", "--capability", "+"), "+logprobs,-n"),
    "a capability both ways": (("check", NOBODY, "--dialect", "mindie", "--capability", "n,-n"), "both"),
    "an unknown capability": (("check", NOBODY, "--dialect", "mindie", "--capability", "+x"), "no capability 'x'"),
    "no such waivers": (("check", NOBODY, "--dialect", "mindie", "--waivers", "no.yaml"), "No such file"),
    "a pattern for nothing": (("check", NOBODY, "--dialect", "mindie", "--only", "nothing"), "'nothing'"),
    "a pattern misspelt": (("check", NOBODY, "--dialect", "mindie", "--only", "stop-txt"), "mean 'stop-text'?"),
    "no address": (("check", "ftp://h", "--dialect", "mindie"), "http://HOST:PORT"),
    "an empty address": (("check", "", "--dialect", "mindie"), "http://HOST:PORT"),
    "a model of no text": (("check", NOBODY, "--dialect", "mindie", "--model", "m\udcff"), "'m\\udcff'"),
    "half an address": (("check", "http://[::1", "--dialect", "mindie"), "http://[::1"),
    "a key in the address": (("check", "http://me:secret@h", "--dialect", "mindie"), "--api-key-env"),
    "authorities that are not": (("check", NOBODY, "--dialect", "mindie", "--ca-file", "no.pem"), "no.pem"),
    "no such check": (("checks", "show", "stream.done"), "stream.done-last"),
    "a check misspelt": (("checks", "show", "stream.dne-last"), "near: stream.done-last"),
    "a dialect of checks": (("checks", "list", "--dialect", "telnet"), "mindie-2.3"),
}


@pytest.mark.parametrize("mistake", USAGE)
def test_a_mistake_of_the_user_gives_2_and_one_line_that_helps(chatproof: Callable[..., Said], mistake: str) -> None:
    arguments, hint = USAGE[mistake]
    line = one_line(chatproof(*arguments), 2)
    assert hint in line
    assert "secret" not in line


def test_an_unknown_dialect_is_answered_with_all_that_there_are(chatproof: Callable[..., Said]) -> None:
    line = one_line(chatproof("check", NOBODY, "--dialect", "telnet"), 2)
    assert not [name for name in names() if name not in line]


def test_a_capability_that_the_dialect_has_not_is_named(honest: str, chatproof: Callable[..., Said]) -> None:
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
def test_a_limit_that_allows_nothing_is_refused(chatproof: Callable[..., Said], option: str, value: str) -> None:
    said = chatproof("check", NOBODY, "--dialect", "mindie", option, value)
    assert said.code == 2
    assert option in said.stderr


@pytest.mark.parametrize("key", ["short", "with a space in it", "schlüssel-ohne-ascii"])
def test_a_key_that_cannot_be_hidden_or_sent_is_refused_and_not_shown(
    chatproof: Callable[..., Said], monkeypatch: pytest.MonkeyPatch, key: str
) -> None:
    monkeypatch.setenv("CANARY", key)
    line = one_line(chatproof("check", NOBODY, "--dialect", "siliconstorm", "--api-key-env", "CANARY"), 2)
    assert "CANARY" in line
    assert key not in line


def test_reports_are_written_where_they_were_asked_for(
    honest: str, chatproof: Callable[..., Said], tmp_path: Path
) -> None:
    said = chatproof(
        "check", honest, "--dialect", "mindie", "--only", "conversation",
        "--report", "json=out/new/r.json", "--report", "junit=out/j.xml", "--report", "markdown=out/p.md",
    )  # fmt: skip
    assert said.code == 0, said.stderr
    written = [path for path in (tmp_path / "out").rglob("*") if path.is_file()]
    assert ["j.xml", "p.md", "r.json"] == sorted(path.name for path in written)
    assert not (tmp_path / "results.json").exists()


def test_two_reports_of_one_kind_are_both_written(honest: str, chatproof: Callable[..., Said]) -> None:
    arguments = ("check", honest, "--dialect", "mindie", "--only", "conversation")
    said = chatproof(*arguments, "--report", "junit=a.xml", "--report", "junit=b.xml")
    assert sorted(path.name for path in said.folder.iterdir()) == ["a.xml", "b.xml", "results.json"]


def test_a_waived_failure_fails_nothing_and_an_idle_waiver_does(
    honest: str, chatproof: Callable[..., Said], tmp_path: Path
) -> None:
    def change(sent: Sent, reply: Reply) -> Reply:
        return replace(reply, headers={"Content-Type": "text/plain", "Date": formatdate(usegmt=True)})

    (tmp_path / "w.yaml").write_text("- {id: '*-content-type', reason: a proxy, owner: me, expires: 2999-01-01}")
    arguments = ("--dialect", "mindie", "--only", "conversation", "--strict", "--waivers", "w.yaml")
    with Sinner(honest, on_replies(change)) as server:
        waived = chatproof("check", server.url, *arguments)
    rows = {row["id"]: row for row in waived.results["requirements"] if row["outcome"] == "WAIVED"}
    assert (waived.code, bool(rows)) == (0, True), waived.stdout
    assert {"me"} == {row["waiver"]["owner"] for row in rows.values()}
    idle = chatproof("check", honest, *arguments)
    assert idle.code == 1
    assert [row["id"] for row in idle.results["requirements"] if row["fails"]] == ["waivers.*-content-type"]


def test_a_waiver_that_is_about_nothing_is_refused_before_anything_is_sent(
    chatproof: Callable[..., Said], tmp_path: Path
) -> None:
    waiver = "- {{id: {}, reason: a proxy, owner: me, expires: 2999-01-01}}"
    (tmp_path / "none.yaml").write_text(waiver.format("stream.done-lst"))
    said = chatproof("check", NOBODY, "--dialect", "mindie", "--waivers", "none.yaml")
    words = "--waivers none.yaml: 'stream.done-lst' is about no requirement. Did you mean 'stream.done-last'?"
    assert (2, f"chatproof: {words}\n") == (said.code, said.stderr)
    (tmp_path / "other.yaml").write_text(waiver.format("stream.usage-on-request"))  # of another dialect
    assert 3 == chatproof("check", NOBODY, "--dialect", "mindie", "--waivers", "other.yaml").code


def test_the_user_has_the_last_word_on_capabilities(honest: str, chatproof: Callable[..., Said]) -> None:
    said = chatproof("check", honest, "--dialect", "mindie", "--only", "conversation", "--capability", "+n,-logprobs")
    origins = said.results["target"]["capability_origins"]
    assert origins["n"] == {"word": "declared", "from": "the command line"}
    assert origins["logprobs"] == {"word": "denied", "from": "the command line"}
    assert origins["best_of"] == {"word": "declared", "from": "the server's /openapi.json"}


def test_several_dialects_are_judged_in_turn_each_with_files_of_its_own(
    honest: str, chatproof: Callable[..., Said], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        command, "names", lambda: {"mindie": "mindie-2.3", "mindie-2.3": "mindie-2.3", "mindie-1.0": "mindie-1.0"}
    )
    said = chatproof("check", honest, "--dialect", "all", "--only", "conversation")
    assert said.code == 0, said.stdout
    assert sorted(path.name for path in said.folder.iterdir()) == ["results.mindie-1.0.json", "results.mindie-2.3.json"]


def test_the_help_says_what_there_is(chatproof: Callable[..., Said]) -> None:
    said = chatproof("check", "--help")
    assert said.code == 0
    for option in ("--dialect", "--only", "--strict", "--dry-run", "--max-requests", "--max-time", "--report"):
        assert option in said.stdout
