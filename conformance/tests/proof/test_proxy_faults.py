"""Test the suite over real sockets: a proxy adds one fault to the reference server, and the verdict
names exactly it.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import pytest

from conformance.tests.faulty_proxy import FaultyProxy, Reply, Sent, on_answers, on_replies, on_requests, on_streams

if TYPE_CHECKING:
    from collections.abc import Callable

    from conformance.tests.conftest import CommandResult
    from conformance.tests.faulty_proxy import Forward, ProxyFault


def clipped(pieces: tuple[bytes, ...]) -> tuple[bytes, ...]:
    """Remove the last character of the text from the events."""
    found = list(pieces)
    for at in reversed(range(len(found))):
        data = found[at].removeprefix(b"data: ").strip()
        chunk = json.loads(data) if data.startswith(b"{") else {}
        for choice in chunk.get("choices", ()):
            if choice["delta"].get("content"):
                choice["delta"]["content"] = choice["delta"]["content"][:-1]
                found[at] = b"data: " + json.dumps(chunk).encode() + b"\n\n"
                return tuple(found)
    return pieces


def leak(sent: Sent, answer: dict[str, Any]) -> None:
    """Add the stop string to the end of the answer."""
    if isinstance(sent.json.get("stop"), str) and not sent.json.get("include_stop_str_in_output"):
        answer["choices"][0]["message"]["content"] += sent.json["stop"]


def add_a_token(_: Sent, answer: dict[str, Any]) -> None:
    """Add a token to the total."""
    answer["usage"]["total_tokens"] += 1


def refusing(status: int, hit: Callable[[Sent], bool]) -> ProxyFault:
    """Return a fault that refuses some requests."""
    return on_replies(lambda sent, reply: Reply(status, (b'{"error":"no"}',)) if hit(sent) else reply)


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
    "omits [DONE]": Case(
        on_streams(lambda pieces: tuple(piece for piece in pieces if b"[DONE]" not in piece)),
        ("greedy",),
        frozenset({"stream.done-last"}),
        "[DONE]",
    ),
    "total_tokens off by one": Case(
        on_answers(add_a_token), ("conversation",), frozenset({"usage.total-is-sum"}), "/usage/total_tokens"
    ),
    "accepts temperature 2.1": Case(
        on_requests(lambda sent: sent.saying(temperature=1) if sent.json.get("temperature") == 2.1 else sent),
        ("temperature-*", "parameters.temperature.*"),
        frozenset({"parameters.temperature.maximum-outside"}),
        "temperature 2.1 is refused with 4xx",
    ),
    "refuses top_k 0": Case(
        refusing(422, lambda sent: sent.json.get("top_k") == 0),
        ("parameters.top_k.*",),
        frozenset({"parameters.top_k.minimum-inside"}),
        "top_k 0 is accepted",
    ),
    "answers 500 to a seed of 2^64": Case(
        refusing(500, lambda sent: sent.json.get("seed") == 2**64),
        ("seed-*",),
        frozenset({"parameters.seed.maximum-outside", "errors.client-fault-is-4xx"}),
        "seed 18446744073709551616 is refused with 4xx",
    ),
    "sends errors with status 200": Case(
        on_replies(lambda sent, reply: reply.saying({"error": "the model failed"})),
        ("conversation",),
        frozenset({"answer.no-error-inside"}),
        "the model failed",
    ),
    "streams as one plain JSON": Case(
        on_requests(lambda sent: sent.saying(stream=False) if sent.json.get("stream") else sent),
        ("stream.accepted",),
        frozenset({"stream.accepted"}),
        "application/json",
    ),
    "never ends a stream": Case(
        on_replies(lambda _, reply: replace(reply, ending="drip") if reply.streams else reply),
        ("stream.accepted",),
        frozenset({"stream.accepted"}),
        "no complete answer within 1 s",
        options=("--timeout", "1", "--concurrency", "16"),
    ),
    "breaks off in mid-stream": Case(
        on_replies(
            lambda _, reply: replace(reply, pieces=reply.pieces[:3], ending="reset") if reply.streams else reply
        ),
        ("greedy",),
        frozenset({"answer.accepted", "stream.accepted"}),
        "(cut: ",
    ),
    "drops the last character of a stream": Case(
        on_streams(clipped), ("greedy",), frozenset({"stream.text-as-plain"}), "streamed: '1, 2, 3, 4, 5, 6, 7, 8, 9'"
    ),
    "leaks the stop text": Case(
        on_answers(leak),
        ("stop-text",),
        frozenset({"stop.not-in-output"}),
        "/choices/0/message/content",
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
    assert (len(said.stderr.splitlines()), said.stdout) == (1, "")


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
