"""results.json fits its schema, contains all evidence, and never contains the API key."""

from __future__ import annotations

import base64
import gzip
import json
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import jsonschema_rs
import pytest

from conformance.exchange import Exchange
from conformance.proof.editing.answers import add_tokens
from conformance.replay import rejudge
from conformance.report import results
from conformance.report.recorded_exchanges import RecordedExchanges
from conformance.report.results_file import read_results, upgrade
from conformance.report.writers.outcome_changes import compare_results
from conformance.tests.faulty_proxy import FaultyProxy, Reply
from openapi.stream import sse

if TYPE_CHECKING:
    from collections.abc import Callable

    from conformance.tests.conftest import CommandResult, Good
    from conformance.tests.faulty_proxy import Forward, Sent

KEY = "sk-canary-0123456789abcdef"
OLD_RESULTS = Path(__file__).parent / "old_results"
SCHEMA = jsonschema_rs.validator_for(results.load_schema())

GOODS = ["mindie-2.3", "openai"]  # results are built in the same way for every dialect


def problems(content: Any) -> list[str]:
    """The violations of the schema."""
    if isinstance(content, dict) and isinstance(content.get("exchanges"), RecordedExchanges):
        content = {**content, "exchanges": [*content["exchanges"]]}
    return [f"{error.instance_path}: {error.message}" for error in SCHEMA.iter_errors(content)]


def broken(good: Good) -> dict[str, Any]:
    """The results of a run with findings."""
    quick = good.quick
    return quick.outcome(
        quick.changed(lambda exchange: add_tokens(exchange, 0, 5000) if exchange.usage else exchange)
    ).results


def test_the_results_of_a_run_fit_their_schema(good: Good) -> None:
    assert not problems(json.loads(good.results))
    assert not problems(broken(good))


def test_the_schema_is_a_valid_schema_that_refuses_other_documents() -> None:
    jsonschema_rs.meta.validate(results.load_schema())
    assert problems({})
    assert problems({**results.load_schema(), "schema_version": 4})


@pytest.mark.parametrize(
    ("place", "value"),
    [
        (("schema_version",), 3),
        (("document", "judged"), -1),
        (("causes",), [{"requirement": "a", "consequences": []}]),
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
def test_the_schema_refuses_an_invalid_value(
    read_good: Callable[[str], Good], place: tuple[Any, ...], value: object
) -> None:
    content = json.loads(read_good("mindie-2.3").results)
    *parents, last = place
    parent = content
    for key in parents:
        parent = parent[key]
    parent[last] = value
    assert problems(content)


@pytest.mark.parametrize("version", [1, 2, 3])
def test_an_old_document_is_upgraded_to_what_a_run_writes_today(good: Good, version: int) -> None:
    old_outcome = {1: "NOT_APPLICABLE", 2: "NO_OCCASION", 3: "NOT_EXERCISED"}[version]
    today = {**json.loads(good.results), "document": None}  # which older versions do not state
    old = json.loads(good.results)
    old["schema_version"] = version
    del old["causes"], old["document"]
    for row in old["requirements"]:
        row["outcome"] = row["outcome"].replace("NOT_EXERCISED", old_outcome)
        del row["causes"]
        if version < 3:
            row["reading"] = row.pop("interpretation")
    old["counts"] = dict(Counter(row["outcome"] for row in old["requirements"]))
    if version < 3:
        for origin in old["target"]["capability_origins"].values():
            origin["word"] = origin.pop("status")
        for exchange in old["exchanges"]:
            exchange["response"]["held_up_s"] = exchange["response"].pop("stalled_s")
    else:
        old["counts"] = today["counts"]
    assert old["counts"][old_outcome] >= today["counts"]["NOT_EXERCISED"] > 0
    assert today == upgrade(old)
    (other,) = upgrade({**old, "also": [old]})["also"]
    assert (today["requirements"], today["counts"], today["target"]) == (
        other["requirements"],
        other["counts"],
        other["target"],
    )


CHANGED_SINCE: Final = "conversation"
"""The scenario whose request is another one than when the old files were written."""


@pytest.mark.parametrize("version", [1, 2, 3])
def test_a_file_that_an_old_version_wrote_can_be_judged_again(version: int) -> None:
    path = OLD_RESULTS / f"version-{version}.json.gz"
    old = json.loads(gzip.decompress(path.read_bytes()))
    content = read_results(path)
    assert (version, 4, []) == (old["schema_version"], content["schema_version"], problems(content))
    assert all(exchange["response"]["stalled_s"] == 0 for exchange in content["exchanges"])
    for old_part, part in zip([old, *old["also"]], [content, *content["also"]], strict=True):
        outcomes = [row["outcome"] for row in part["requirements"]]
        assert part["counts"] == {name: outcomes.count(name) for name in part["counts"]}
        assert part["counts"]["PASS"] == old_part["counts"]["PASS"] > 0
        assert part["counts"]["NOT_EXERCISED"] > part["counts"]["NOT_APPLICABLE"] == 0
    again = rejudge.judge_again(content)
    assert content["verdict"] == again.outcome.results["verdict"]
    assert {CHANGED_SINCE} == {scenario.rpartition(":")[2] for scenario in again.unrecorded}
    changes = compare_results(content, again.outcome.results)
    # A MAY that was not exercised is OBSERVED in version 1; a requirement may be newer than the file.
    assert {"OBSERVED", ""} >= {change.before for change in changes}


def unjudged(row: dict[str, Any]) -> dict[str, Any]:
    """A row that no answer showed."""
    return {**row, "outcome": "NOT_EXERCISED", "exchanges": 0, "findings": []}


@pytest.mark.parametrize(
    ("selection", "is_judged", "expected"),
    [
        ({}, lambda _: False, "inconclusive"),
        ({}, lambda row: row["id"] == "usage.total-is-sum", "conformant"),
        ({"only": ["usage.*"]}, lambda row: row["check"].startswith("usage."), "conformant"),
        ({"only": ["usage.*"]}, lambda row: not row["check"].startswith("usage."), "inconclusive"),
        ({"only": ["greedy"]}, lambda row: row["check"] == "answer.accepted", "conformant"),
        ({"topics": ["usage"]}, lambda row: row["check"] == "answer.accepted", "inconclusive"),
    ],
)
def test_a_file_is_conformant_only_if_a_selected_requirement_was_judged(
    read_good: Callable[[str], Good],
    tmp_path: Path,
    selection: dict[str, Any],
    is_judged: Callable[[dict[str, Any]], bool],
    expected: str,
) -> None:
    content = json.loads(read_good("mindie-2.3").results)
    content["run"] |= selection
    content["requirements"] = [row if is_judged(row) else unjudged(row) for row in content["requirements"]]
    names = ("target", "verdict", "counts", "causes", "document", "requirements")
    content["also"] = [{**{name: content[name] for name in names}, "requests": 0}]
    (path := tmp_path / "old.json").write_text(json.dumps(content), encoding="utf-8")
    read = read_results(path)
    assert [expected, expected] == [read["verdict"], read["also"][0]["verdict"]]
    assert (expected == "inconclusive") == ("unjudged" in read["run"])
    assert not problems(read)


def test_a_value_that_is_not_an_old_document_is_not_changed() -> None:
    values: tuple[Any, ...] = ({}, [], None, {"schema_version": 5})
    for value in values:
        assert value == upgrade(value)


def test_the_counts_are_the_numbers_of_rows(good: Good) -> None:
    content = broken(good)
    outcomes = [row["outcome"] for row in content["requirements"]]
    assert {name: outcomes.count(name) for name in content["counts"]} == content["counts"]
    assert content["counts"]["FAIL"]
    assert content["verdict"] == "nonconformant"


def test_every_finding_names_a_recorded_exchange_with_its_command(good: Good) -> None:
    content = broken(good)
    exchanges = {exchange["id"]: exchange for exchange in content["exchanges"]}
    named = {finding["exchange"] for row in content["requirements"] for finding in row["findings"]}
    assert named
    assert named <= set(exchanges)
    assert not [name for name in named if not exchanges[name]["curl"].startswith(("curl ", "printf "))]


def test_a_run_can_be_judged_again_from_its_results(good: Good) -> None:
    content = json.loads("".join(results.to_json(broken(good))))
    exchanges = [Exchange.from_dict(exchange) for exchange in content["exchanges"]]
    again = good.quick.outcome({(exchange.scenario, exchange.step): exchange for exchange in exchanges}).results
    assert content["requirements"] == again["requirements"]


def test_a_lone_surrogate_from_a_server_is_written_as_valid_json(good: Good) -> None:
    content = json.loads(good.results)
    content["requirements"][0]["note"] = "half a pair: \ud800"
    written = "".join(results.to_json(content)).encode(errors="backslashreplace")
    assert json.loads(written)["requirements"][0]["note"] == "half a pair: \ud800"


def echo(key: str, sent: Sent) -> Reply:
    """An answer that contains the API key in every form that a server may echo."""
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


def test_no_output_contains_the_key_whatever_the_server_echoes(
    chatproof: Callable[..., CommandResult], monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[str] = []

    async def sin(sent: Sent, forward: Forward) -> Reply:
        seen.append(sent.headers.get("authorization", ""))
        return echo(KEY, sent)

    monkeypatch.setenv("CANARY", KEY)
    with FaultyProxy("", sin) as server:
        result = chatproof(
            "check", server.url, "--dialect", "siliconstorm", "--api-key-env", "CANARY",
            "--only", "conversation", "--only", "greedy", "--only", "key-*", "--only", "temperature-*",
            "--report", "junit=junit.xml", "--report", "markdown=page.md",
        )  # fmt: skip
    written = {path.name: path.read_text(encoding="utf-8") for path in result.folder.iterdir()}
    outputs = {**written, "stdout": result.stdout, "stderr": result.stderr}
    assert result.code == 1, result.stderr
    assert f"Bearer {KEY}" in seen  # the server did see it
    assert {"results.json", "junit.xml", "page.md"} == set(written)
    forms = [KEY, KEY.encode().hex(), base64.b64encode(KEY.encode()).decode()[:-4]]
    assert not [name for name, text in outputs.items() for form in forms if form in text]
    joined = "".join(
        choice["delta"]["content"]
        for exchange in result.results["exchanges"]
        if exchange["step"] == "streamed"
        for event in sse.decode([(0.0, "".join(part for _, part in exchange["response"]["segments"]).encode())]).events
        if event.data.startswith("{")
        for choice in json.loads(event.data)["choices"]
    )
    assert joined
    assert KEY not in joined
    assert "[REDACTED]" in outputs["results.json"]


def test_recorded_exchanges_are_redacted(read_good: Callable[[str], Good]) -> None:
    good = read_good("siliconstorm")
    headers = [dict(exchange.request.headers) for exchange in good.exchanges.values()]
    keys = {value for fields in headers for name, value in fields.items() if name.lower() == "authorization"}
    assert "Bearer [REDACTED]" in keys
    tokens = [value for value in keys if value.lower().startswith("bearer ")]
    assert not [token for token in tokens if "[REDACTED" not in token and "wrong" not in token]
