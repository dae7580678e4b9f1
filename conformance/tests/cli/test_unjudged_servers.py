"""`chatproof check` of a server that cannot be judged: one line with the likely cause, and reports that say why."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from conformance.cli import exit_codes
from conformance.tests.cli.command_line_errors import UNREACHABLE, one_line
from conformance.tests.faulty_proxy import FaultyProxy, Reply

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from conformance.tests.conftest import CommandResult
    from conformance.tests.faulty_proxy import Forward, Sent


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
