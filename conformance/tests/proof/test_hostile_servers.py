"""Test the suite over real sockets against servers that give no usable answer.

The faults of the reference server cover all other misbehaviour, and `chatproof faults run` tests the suite with them.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import pytest

from conformance.tests.faulty_proxy import FaultyProxy, Reply, on_replies

if TYPE_CHECKING:
    from collections.abc import Callable

    from conformance.tests.conftest import CommandResult
    from conformance.tests.faulty_proxy import Forward, ProxyFault, Sent


@dataclass(frozen=True)
class Case:
    """A fault, the part of the suite that runs against it, and the expected verdict."""

    fault: ProxyFault
    only: tuple[str, ...]
    failing: frozenset[str]
    says: str
    code: int = 1
    options: tuple[str, ...] = ()


CASES = {
    "never ends a stream": Case(
        on_replies(lambda _, reply: replace(reply, ending="drip") if reply.streams else reply),
        ("stream.accepted",),
        frozenset({"stream.accepted"}),
        "no complete answer within 1 s",
        options=("--timeout", "1", "--concurrency", "16"),
    ),
    "nests its answers too deep": Case(
        on_replies(lambda _, reply: replace(reply, pieces=(b"[" * 200_000,))),
        ("conversation",),
        frozenset({"answer.fits-schema"}),
        "nested too deeply",
    ),
    "answers with an HTML page": Case(
        on_replies(lambda _, reply: Reply(200, (b"<html>busy</html>",), {"Content-Type": "text/html"})),
        ("conversation",),
        frozenset({"answer.fits-schema"}),
        "Expecting value",
    ),
    "redirects": Case(
        on_replies(lambda _, reply: Reply(307, (), {"Location": "http://127.0.0.1:9/"})),
        ("conversation",),
        frozenset({"answer.accepted"}),
        "307",
    ),
}


def only(*patterns: str) -> list[str]:
    """Return the patterns as options."""
    return [word for pattern in patterns for word in ("--only", pattern)]


def test_the_proxy_without_a_fault_is_conformant(honest: str, chatproof: Callable[..., CommandResult]) -> None:
    with FaultyProxy(honest, on_replies(lambda _, reply: reply)) as server:
        patterns = sorted({pattern for case in CASES.values() for pattern in case.only})
        said = chatproof("check", server.url, "--dialect", "mindie", *only(*patterns))
    assert said.code == 0, said.stdout
    assert not [row for row in said.results["requirements"] if row["fails"]]


@pytest.mark.parametrize("name", CASES)
def test_a_fault_is_reported_by_name(honest: str, chatproof: Callable[..., CommandResult], name: str) -> None:
    case = CASES[name]
    with FaultyProxy(honest, case.fault) as server:
        said = chatproof("check", server.url, "--dialect", "mindie", *only(*case.only), *case.options)
    failed = [row for row in said.results["requirements"] if row["outcome"] == "FAIL"]
    words = json.dumps(failed, ensure_ascii=False)
    assert case.failing == {row["id"] for row in failed}, words
    assert case.code == said.code
    assert case.says in words


def test_a_server_that_refuses_every_request_is_not_judged(
    honest: str, chatproof: Callable[..., CommandResult]
) -> None:
    async def refuse_all(sent: Sent, forward: Forward) -> Reply:
        return Reply(401, (b'{"error":"Unauthorized"}',))

    with FaultyProxy(honest, refuse_all) as server:
        said = chatproof("check", server.url, "--dialect", "mindie")
    assert said.code == 3
    assert said.stderr.startswith("chatproof: the server refuses the API key: 401")
    assert (len(said.stderr.splitlines()), said.stdout) == (1, "json written to results.json\n")
    assert said.results["verdict"] == "inconclusive"
    assert (said.results["requirements"], said.results["exchanges"]) == ([], [])


def test_a_permanent_rate_limit_ends_the_run_without_a_verdict(
    honest: str, chatproof: Callable[..., CommandResult]
) -> None:
    limit = Reply(429, (b'{"error":"slow down"}',), {"Content-Type": "application/json", "Retry-After": "0"})
    with FaultyProxy(honest, on_replies(lambda _, reply: limit)) as server:
        options = ("--only", "conversation", "--only", "greedy", "--concurrency", "1")
        said = chatproof("check", server.url, "--dialect", "mindie", *options)
        asked = server.requests
    counts = said.results["counts"]
    assert said.code == 4, said.stdout
    assert (said.results["verdict"], counts["FAIL"], counts["PASS"]) == ("inconclusive", 0, 0)
    assert said.results["run"]["exhausted"] == "the server limits the rate: 429 to 4 tries of one request"
    assert asked == 3 + 4  # the preflight requests, and one request four times
