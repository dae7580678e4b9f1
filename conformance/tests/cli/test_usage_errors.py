"""One clear line for every mistake in a command that the user can fix."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from conformance.tests.cli.command_line_errors import UNREACHABLE, one_line
from openapi.contract.contract import names

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from conformance.tests.conftest import CommandResult

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
