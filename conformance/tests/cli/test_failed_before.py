"""`chatproof check` shows failures as they happen, ends at the first, and sends the last failed again."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING

from conformance.tests.cli.command_line_errors import UNREACHABLE
from conformance.tests.faulty_proxy import FaultyProxy, Reply, on_replies

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from conformance.tests.conftest import CommandResult
    from conformance.tests.faulty_proxy import Sent


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
