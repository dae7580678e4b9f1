"""Real clients over recorded answers: a good run breaks none, and a broken one is noticed."""

from __future__ import annotations

import json
import urllib.request
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from conformance.exchange import Segment
from conformance.replay import client_parsers as clients
from conformance.replay.client_parsers import MAX_ANSWERS, run_clients, select_answers
from conformance.replay.replay_server import serve_answers

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from conformance.exchange import Exchange
    from conformance.tests.conftest import Good, Said

pytest.importorskip("openai")


def streamed(good: Good) -> Exchange:
    """A recorded stream."""
    return good.exchanges["greedy", "streamed"]


def saying(exchange: Exchange, body: bytes) -> Exchange:
    """The same answer with another body."""
    assert exchange.response is not None
    return replace(exchange, response=replace(exchange.response, segments=(Segment(0.1, body),)))


def broken(*exchanges: Exchange) -> dict[str, tuple[str, ...]]:
    """What each installed client says against such answers."""
    return {each.client: tuple(it.how for it in each.broken) for each in run_clients(exchanges) if each.version}


def test_the_player_says_the_very_bytes(read_good: Callable[[str], Good]) -> None:
    exchange = streamed(read_good("mindie-2.3"))
    with serve_answers([exchange]) as (url,), urllib.request.urlopen(f"{url}/chat/completions", data=b"{}") as answer:
        assert answer.read() == exchange.body
        assert answer.headers["Content-Type"] == exchange.header("content-type")


def test_a_good_run_breaks_no_lax_client(read_good: Callable[[str], Good]) -> None:
    found = {each.client: each for each in run_clients(list(read_good("openai").exchanges.values()))}
    lax = found["openai-python"]
    assert (lax.version is not None, lax.answers, lax.broken) == (True, MAX_ANSWERS, ())


def test_clients_that_are_not_installed_are_named(
    read_good: Callable[[str], Good], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(clients, "find_spec", lambda _: None)
    found = run_clients([streamed(read_good("mindie-2.3"))])
    assert [each.client for each in found if each.version is None and not each.answers] == [
        "openai-python",
        "openai-python, strict",
        "httpx-sse",
        "LiteLLM",
        "LangChain",
    ]


def test_an_answer_that_is_no_json_breaks_every_client(read_good: Callable[[str], Good]) -> None:
    exchange = saying(streamed(read_good("mindie-2.3")), b"data: {nothing\n\n")
    found = broken(exchange)
    assert found
    assert all(len(each) == 1 for each in found.values()), found


def test_a_stream_without_prefix_is_told_though_the_client_says_nothing(read_good: Callable[[str], Good]) -> None:
    exchange = streamed(read_good("mindie-2.3"))
    found = broken(saying(exchange, exchange.body.replace(b"data: ", b"")))
    assert found["openai-python"] == ("ValueError: the client read no chunk from the stream",)


def test_an_error_counts_only_whole_answers_with_choices(read_good: Callable[[str], Good]) -> None:
    exchanges = list(read_good("mindie-2.3").exchanges.values())
    chosen = select_answers(exchanges)
    assert len(chosen) == MAX_ANSWERS
    assert {True, False} == {each.is_stream for each in chosen}
    assert all(each.status == 200 for each in chosen)


def test_the_option_adds_the_clients_to_the_results(
    read_good: Callable[[str], Good], chatproof: Callable[..., Said], tmp_path: Path
) -> None:
    (tmp_path / "r.json").write_text(read_good("mindie-2.3").results, encoding="utf-8")
    said = chatproof("judge", "r.json", "--clients", "--topic", "usage", "--report", "json=new.json")
    assert said.code == 0, said.stderr
    content = json.loads((tmp_path / "new.json").read_text(encoding="utf-8"))
    assert "openai-python, strict" in [client["client"] for client in content["clients"]]
    assert "clients that were played the answers" in said.stdout
    assert chatproof("judge", "new.json", "--topic", "usage").code == 0
