"""`chatproof check --against`: a second server is judged in the same way, with its own key and headers alone."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from conformance.tests.faulty_proxy import FaultyProxy, Reply, on_replies

if TYPE_CHECKING:
    from collections.abc import Callable

    from conformance.tests.conftest import CommandResult
    from conformance.tests.faulty_proxy import Sent

NARROW = ("--dialect", "mindie", "--only", "conversation")


def test_both_are_judged_and_what_differs_is_printed(honest: str, chatproof: Callable[..., CommandResult]) -> None:
    def change(sent: Sent, reply: Reply) -> Reply:
        return replace(reply, headers={"Content-Type": "text/plain"})

    with FaultyProxy(honest, on_replies(change)) as other:
        result = chatproof("check", honest, *NARROW, "--against", other.url)
    assert 0 == result.code, result.stderr
    second = json.loads((result.folder / "results.against.json").read_text("utf-8"))
    assert (honest, other.url) == tuple(
        content["target"]["url"].removesuffix("/v1/chat/completions") for content in (result.results, second)
    )
    outcomes = {row["id"]: row["outcome"] for row in result.results["requirements"]}
    worse = {row["id"] for row in second["requirements"] if row["outcome"] == "WARN" and outcomes[row["id"]] == "PASS"}
    assert worse
    assert worse == {line.split()[0] for line in result.stdout.splitlines() if line.split()[1:] == ["pass", "warn"]}
    assert "chatproof matrix results.json results.against.json --report html=matrix.html" in result.stdout


def test_the_second_server_gets_its_own_headers_and_no_key_of_the_first(
    honest: str, chatproof: Callable[..., CommandResult], monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[dict[str, str]] = []

    def note(sent: Sent, reply: Reply) -> Reply:
        seen.append({name.lower(): value for name, value in sent.headers.items()})
        return reply

    monkeypatch.setenv("FIRST_KEY", "key-of-the-first-server")
    with FaultyProxy(honest, on_replies(note)) as other:
        target = f'[targets.other]\nurl = "{other.url}"\nheader = ["X-Route: other"]\n'
        monkeypatch.setenv("CHATPROOF_CONFIG", "own.toml")
        result = chatproof("init")
        (result.folder / "own.toml").write_text(target, encoding="utf-8")
        words = ("--api-key-env", "FIRST_KEY", "--header", "X-Route: first", "--against", "@other")
        result = chatproof("check", honest, *NARROW, *words)
    assert 0 == result.code, result.stderr
    assert seen
    assert {"other"} == {headers.get("x-route") for headers in seen}
    assert not [headers for headers in seen if "key-of-the-first-server" in str(headers)]


@pytest.mark.parametrize(
    ("words", "code", "expected"),
    [
        (("--against", "http://127.0.0.1:9"), 3, "refuses connections"),
        (("--against", "@none"), 2, "unknown target '@none'"),
        (("--against", "nonsense://x"), 2, "nonsense://x"),
        (("--against", "http://127.0.0.1:9", "--list"), 2, "--against needs a URL and one dialect"),
    ],
)
def test_a_second_server_that_cannot_be_judged_is_reported_before_the_first_is_judged(
    honest: str, chatproof: Callable[..., CommandResult], words: tuple[str, ...], code: int, expected: str
) -> None:
    result = chatproof("check", honest, *NARROW, *words)
    assert (code, "") == (result.code, result.stdout)
    assert expected in result.stderr
    assert 1 == result.stderr.count("\n")
