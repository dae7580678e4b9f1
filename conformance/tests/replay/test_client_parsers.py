"""Real client libraries read all answers of a good run, and broken answers are reported."""

from __future__ import annotations

import json
import urllib.request
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from conformance.exchange import Segment
from conformance.replay import client_parsers
from conformance.replay.client_parsers import MAX_ANSWERS, run_clients, select_answers
from conformance.replay.replay_server import serve_answers

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from conformance.exchange import Exchange
    from conformance.tests.conftest import CommandResult, Good

pytest.importorskip("openai")


def streamed(good: Good) -> Exchange:
    """A recorded stream."""
    return good.exchanges["greedy", "streamed"]


def with_body(exchange: Exchange, body: bytes) -> Exchange:
    """The same answer with a different body."""
    assert exchange.response is not None
    return replace(exchange, response=replace(exchange.response, segments=(Segment(0.1, body),)))


def problems(*exchanges: Exchange) -> dict[str, tuple[str, ...]]:
    """The problems of each installed client with these answers."""
    results = [result for result in run_clients(exchanges) if result.version]
    return {result.client: tuple(answer.how for answer in result.broken) for result in results}


def test_the_replay_server_sends_the_recorded_bytes(read_good: Callable[[str], Good]) -> None:
    exchange = streamed(read_good("mindie-2.3"))
    with serve_answers([exchange]) as (url,), urllib.request.urlopen(f"{url}/chat/completions", data=b"{}") as answer:
        assert answer.read() == exchange.body
        assert answer.headers["Content-Type"] == exchange.header("content-type")


def test_a_lenient_client_reads_all_answers_of_a_good_run(read_good: Callable[[str], Good]) -> None:
    results = {result.client: result for result in run_clients(list(read_good("openai").exchanges.values()))}
    lenient = results["openai-python"]
    assert (lenient.version is not None, lenient.answers, lenient.broken) == (True, MAX_ANSWERS, ())


def test_clients_that_are_not_installed_are_listed(
    read_good: Callable[[str], Good], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(client_parsers, "find_spec", lambda _: None)
    results = run_clients([streamed(read_good("mindie-2.3"))])
    assert [result.client for result in results if result.version is None and not result.answers] == [
        "openai-python",
        "openai-python, strict",
        "httpx-sse",
        "LiteLLM",
        "LangChain",
    ]


def test_no_client_can_read_an_event_that_is_not_json(read_good: Callable[[str], Good]) -> None:
    exchange = with_body(streamed(read_good("mindie-2.3")), b"data: {nothing\n\n")
    by_client = problems(exchange)
    assert by_client
    assert all(len(descriptions) == 1 for descriptions in by_client.values()), by_client


def test_a_stream_without_the_data_prefix_is_reported_although_the_client_raises_nothing(
    read_good: Callable[[str], Good],
) -> None:
    exchange = streamed(read_good("mindie-2.3"))
    by_client = problems(with_body(exchange, exchange.body.replace(b"data: ", b"")))
    assert by_client["openai-python"] == ("ValueError: the client read no chunk from the stream",)


def test_only_complete_answers_with_choices_are_selected(read_good: Callable[[str], Good]) -> None:
    exchanges = list(read_good("mindie-2.3").exchanges.values())
    selected = select_answers(exchanges)
    assert len(selected) == MAX_ANSWERS
    assert {True, False} == {exchange.is_stream for exchange in selected}
    assert all(exchange.status == 200 for exchange in selected)


def test_the_option_adds_the_clients_to_the_results(
    read_good: Callable[[str], Good], chatproof: Callable[..., CommandResult], tmp_path: Path
) -> None:
    (tmp_path / "r.json").write_text(read_good("mindie-2.3").results, encoding="utf-8")
    result = chatproof("judge", "r.json", "--clients", "--topic", "usage", "--report", "json=new.json")
    assert result.code == 0, result.stderr
    content = json.loads((tmp_path / "new.json").read_text(encoding="utf-8"))
    assert "openai-python, strict" in [client["client"] for client in content["clients"]]
    assert "client libraries that read the recorded answers" in result.stdout
    assert chatproof("judge", "new.json", "--topic", "usage").code == 0
