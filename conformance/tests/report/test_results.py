"""results.json: it fits its schema, holds the whole evidence, and never the key."""

from __future__ import annotations

import base64
import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import jsonschema_rs
import pytest

from conformance.exchange import Exchange
from conformance.proof.editing.answers import add_tokens
from conformance.report import results
from conformance.tests.faulty_proxy import Reply, Sinner
from openapi.stream import sse

if TYPE_CHECKING:
    from collections.abc import Callable

    from conformance.tests.conftest import Good, Said
    from conformance.tests.faulty_proxy import Forward, Sent

KEY = "sk-canary-0123456789abcdef"
SCHEMA = jsonschema_rs.validator_for(results.load_schema())

GOODS = ["mindie-2.3", "openai"]  # what is done to results is the same for every dialect


def problems(content: object) -> list[str]:
    """How a content breaks the schema."""
    return [f"{error.instance_path}: {error.message}" for error in SCHEMA.iter_errors(content)]


def broken(good: Good) -> dict[str, Any]:
    """The results of a run with findings in it."""
    return good.outcome(
        good.changed(lambda exchange: add_tokens(exchange, 0, 5000) if exchange.usage else exchange)
    ).results


def test_the_results_of_a_run_fit_their_schema(good: Good) -> None:
    assert not problems(json.loads(good.results))
    assert not problems(broken(good))


def test_the_schema_is_a_schema_and_tight() -> None:
    jsonschema_rs.meta.validate(results.load_schema())
    assert problems({})
    assert problems({**results.load_schema(), "schema_version": 3})


@pytest.mark.parametrize(
    ("place", "value"),
    [
        (("schema_version",), 3),
        (("verdict",), "fine"),
        (("counts", "PASS"), -1),
        (("requirements", 0, "outcome"), "GOOD"),
        (("requirements", 0, "keyword"), "OUGHT"),
        (("requirements", 0, "source"), "no anchor"),
        (("target", "document", "sha256"), "x"),
        (("run", "requests"), "many"),
        (("exchanges", 0, "curl"), None),
    ],
)
def test_the_schema_refuses_what_no_run_writes(
    read_good: Callable[[str], Good], place: tuple[Any, ...], value: object
) -> None:
    content = json.loads(read_good("mindie-2.3").results)
    *way, last = place
    holder = content
    for step in way:
        holder = holder[step]
    holder[last] = value
    assert problems(content)


def test_version_1_is_read_as_what_it_would_be_today(good: Good) -> None:
    today = json.loads(good.results)
    old = json.loads(good.results)
    old["schema_version"] = 1
    for row in old["requirements"]:
        row["outcome"] = row["outcome"].replace("NO_OCCASION", "NOT_APPLICABLE")
    old["counts"]["NOT_APPLICABLE"] += old["counts"].pop("NO_OCCASION")
    assert old["counts"]["NOT_APPLICABLE"] > today["counts"]["NOT_APPLICABLE"]
    assert not problems(old)
    assert today == results.current(old)
    assert [today] == [{**each, "schema_version": 2} for each in results.current({**old, "also": [old]})["also"]]


def test_the_counts_are_those_of_the_rows(good: Good) -> None:
    content = broken(good)
    found = [row["outcome"] for row in content["requirements"]]
    assert {name: found.count(name) for name in content["counts"]} == content["counts"]
    assert content["counts"]["FAIL"]
    assert content["verdict"] == "nonconformant"


def test_every_finding_names_an_exchange_that_is_there_with_its_command(good: Good) -> None:
    content = broken(good)
    exchanges = {exchange["id"]: exchange for exchange in content["exchanges"]}
    named = {found["exchange"] for row in content["requirements"] for found in row["findings"]}
    assert named
    assert named <= set(exchanges)
    assert not [name for name in named if not exchanges[name]["curl"].startswith(("curl ", "printf "))]


def test_a_run_can_be_judged_again_from_its_results(good: Good) -> None:
    content = json.loads(results.to_json(broken(good)))
    again = [Exchange.from_dict(exchange) for exchange in content["exchanges"]]
    found = good.outcome({(each.scenario, each.step): each for each in again}).results
    assert content["requirements"] == found["requirements"]


def test_text_of_a_server_that_no_file_can_hold_is_still_json(good: Good) -> None:
    content = json.loads(good.results)
    content["requirements"][0]["note"] = "half a pair: \ud800"
    written = results.to_json(content).encode(errors="backslashreplace")
    assert json.loads(written)["requirements"][0]["note"] == "half a pair: \ud800"


def echo(key: str, sent: Sent) -> Reply:
    """An answer that shows the key in every way that a server may."""
    shown = [key, base64.b64encode(f"user:{key}".encode()).decode(), key.encode().hex(), json.dumps(key)]
    headers = {"X-Echo": key, "Set-Cookie": f"session={key}", "Location": f"http://127.0.0.1:9/?key={key}"}
    named = {"id": key, "object": "chat.completion", "created": 1, "model": key}
    if sent.path.endswith("/models"):
        body: Any = {"object": "list", "data": [{"id": "m", "object": "model", "owned_by": key}]}
    elif sent.json.get("stream") is True:
        chunks = [{**named, "choices": [{"index": 0, "delta": {"role": "assistant", "content": part}}]} for part in key]
        pieces = tuple(sse.encode(json.dumps(chunk)) for chunk in chunks)
        return Reply(200, pieces, {**headers, "Content-Type": "text/event-stream"})
    elif sent.json.get("max_tokens") == 1:
        message = {"role": "assistant", "content": " ".join(shown)}
        body = {**named, "choices": [{"index": 0, "message": message, "finish_reason": "stop"}]}
    else:
        body = {"code": 9999, "result": None, "message": f"{' '.join(shown)} was refused at {sent.path}?key={key}"}
    return Reply(
        200 if "code" not in body else 400,
        (json.dumps(body).encode(),),
        {**headers, "Content-Type": "application/json"},
    )


def test_the_key_is_in_no_output_whatever_the_server_echoes(
    chatproof: Callable[..., Said], monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[str] = []

    async def sin(sent: Sent, forward: Forward) -> Reply:
        seen.append(sent.headers.get("authorization", ""))
        return echo(KEY, sent)

    monkeypatch.setenv("CANARY", KEY)
    with Sinner("", sin) as server:
        said = chatproof(
            "check", server.url, "--dialect", "siliconstorm", "--api-key-env", "CANARY",
            "--only", "conversation", "--only", "greedy", "--only", "key-*", "--only", "temperature-*",
            "--report", "junit=junit.xml", "--report", "markdown=page.md",
        )  # fmt: skip
    written = {path.name: path.read_text(encoding="utf-8") for path in said.folder.iterdir()}
    outputs = {**written, "stdout": said.stdout, "stderr": said.stderr}
    assert said.code == 1, said.stderr
    assert f"Bearer {KEY}" in seen  # the server did see it
    assert {"results.json", "junit.xml", "page.md"} == set(written)
    forms = [KEY, KEY.encode().hex(), base64.b64encode(KEY.encode()).decode()[:-4]]
    assert not [name for name, text in outputs.items() for form in forms if form in text]
    joined = "".join(
        choice["delta"]["content"]
        for exchange in said.results["exchanges"]
        if exchange["step"] == "streamed"
        for event in sse.decode([(0.0, "".join(part for _, part in exchange["response"]["segments"]).encode())]).events
        if event.data.startswith("{")
        for choice in json.loads(event.data)["choices"]
    )
    assert joined
    assert KEY not in joined
    assert "[REDACTED]" in outputs["results.json"]


def test_redacted_exchanges_are_the_only_ones_that_are_kept(read_good: Callable[[str], Good]) -> None:
    good = read_good("siliconstorm")
    headers = [dict(exchange.request.headers) for exchange in good.exchanges.values()]
    shown = {name: value for found in headers for name, value in found.items() if name.lower() == "authorization"}
    assert {"Bearer [REDACTED]"} >= {value for value in shown.values() if "wrong" not in value}
    assert not [each for each in good.exchanges.values() if replace(each) != each]
