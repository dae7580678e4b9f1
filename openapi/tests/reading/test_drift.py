"""Drift: a page is compared with a contract attribute by attribute, and with the recorded differences."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from openapi.contract.contract import load, names
from openapi.contract.interpretations import interpretations
from openapi.contract.resolution import read
from openapi.contract.tree.yaml_file import ContractError
from openapi.reading.compare import recorded_differences
from openapi.reading.compare.contract_facts import contract_facts
from openapi.reading.compare.drift import PRESENCE, UNREAD, DriftRow, DriftStatus, compare_page, format_value
from openapi.reading.compare.recorded_differences import Reason, explain, find_stale
from openapi.reading.facts.facts import Facts, read_facts
from openapi.reading.pages.page import read_page
from openapi.tests.reading.rendering import Line, html_page

if TYPE_CHECKING:
    from openapi.contract.contract import Contract

DIALECTS = sorted(set(names().values()))
TOP = 2**64 - 1
CHECKED = Reason("checked", "So it is.")
LINES = [
    Line(("model",), "Required", "String.", prose="Which one."),
    Line(("messages",), "Required", "List[dict] type."),
    Line(("messages", "role"), "Required", "String.", ("system: a", "user: b", "assistant: c", "tool: d")),
    Line(("stream",), "Optional", "bool type, default false. It is best left alone for 3 days."),
    Line(("temperature",), "Optional", "Float type, value range [0.0, 2.0], default value 1.0."),
    Line(("top_k",), "Optional", "int32 type, value range [0, 2147483647]."),
    Line(("max_tokens",), "Optional", "int type, range (0, 2147483647], default value maxIterTimes."),
    Line(("seed",), "Optional", f"UInt64 type, value range [0, {TOP}]."),
    Line(
        ("stop_token_ids",), "Optional", "List[int32] type, elements exceeding int32 will be ignored. default is null."
    ),
    Line(("stop",), "Optional", "List[string] type or string type. An empty list is equivalent to null."),
]


def facts(lines: list[Line]) -> Facts:
    return read_facts(read_page(html_page(lines).encode(), "own"))


def compared(lines: list[Line], contract: Contract) -> dict[tuple[str, str], DriftRow]:
    return {(row.path, row.member): row for row in compare_page(facts(lines), contract) if row.part == "request"}


def changed(before: str, after: str) -> list[Line]:
    lines = [replace(line, value=line.value.replace(before, after)) for line in LINES]
    assert lines != LINES
    return lines


@pytest.fixture
def native() -> Contract:
    return load("siliconstorm")


def test_equal_statements_of_page_and_contract_agree(native: Contract) -> None:
    rows = compared(LINES, native)
    for attribute in (
        *(("model", "types"), ("messages[].role", "enum"), ("stream", "default"), ("temperature", "range")),
        *(("temperature", "default"), ("temperature", "required"), ("top_k", "range"), ("top_k", "format")),
        *(("max_tokens", "range"), ("max_tokens", "default"), ("seed", "range"), ("seed", "format")),
        *(("stop_token_ids[]", "format"), ("stop_token_ids[]", "beyond"), ("stop", "types"), ("stop", "empty")),
    ):
        assert rows[attribute].status is DriftStatus.AGREES, attribute


@pytest.mark.parametrize(
    ("before", "after", "path", "attribute", "page", "contract"),
    [
        ("[0.0, 2.0]", "[0.0, 2.5]", "temperature", "range", "[0, 2.5]", "[0, 2]"),
        ("[0.0, 2.0]", "(0.0, 2.0]", "temperature", "range", "(0, 2]", "[0, 2]"),
        ("value 1.0", "value 0.7", "temperature", "default", "0.7", "1.0"),
        ("Float", "int", "temperature", "types", "integer", "number"),
        ("[0, 2147483647]", "-1 or (0, 2147483647]", "top_k", "range", "-1 or (0, 2147483647]", "[0, 2147483647]"),
        ("[0, 2147483647]", "[0, 2147483648]", "top_k", "range", "[0, 2147483648]", "[0, 2147483647]"),
        ("int32 type, value", "int16 type, value", "top_k", "format", "int16", None),
        (f"[0, {TOP}]", f"[0, {TOP - 1}]", "seed", "range", f"[0, {TOP - 1}]", f"[0, {TOP}]"),
        ("default false", "default 0", "stream", "default", "0", "false"),
        ("default false", "default true", "stream", "default", "true", "false"),
        ("default false", "default false, can be null", "stream", "nullable", "yes", None),
        ("maxIterTimes", "maxSeqLen", "max_tokens", "default", "maxSeqLen", "the server's limit (maxIterTimes)"),
        ("default is null", "default is false", "stop_token_ids", "default", "false", "null"),
        ("exceeding int32", "exceeding int64", "stop_token_ids[]", "beyond", "ignored outside int64", None),
        ("List[int32]", "List[string]", "stop_token_ids[]", "types", "string", "integer"),
    ],
)
def test_one_changed_value_is_one_difference_with_both_values(
    native: Contract, before: str, after: str, path: str, attribute: str, page: str, contract: str | None
) -> None:
    usual = compared(LINES, native)
    actual = compared(changed(before, after), native)
    new = actual[path, attribute]
    assert new.status in (DriftStatus.DIFFERS, DriftStatus.ONLY_IN_PAGE)
    assert (new.page, new.contract) == (page, contract)
    others = {key for key in actual if actual[key].status != usual.get(key, new).status} - {(path, attribute)}
    assert others <= {(path, "format"), (path, "range"), ("stop_token_ids[]", "format"), ("stop_token_ids[]", "beyond")}


def test_a_parameter_of_one_side_is_reported_once_without_its_fields(native: Contract) -> None:
    rows = compared(
        [*LINES, Line(("novelty",), "Optional", "dict type."), Line(("novelty", "in"), "No", "int type.")], native
    )
    only_page = [path for (path, attribute), row in rows.items() if attribute == PRESENCE and row.page]
    only_contract = [path for (path, attribute), row in rows.items() if attribute == PRESENCE and row.contract]
    assert only_page == ["novelty"]
    assert rows["novelty", PRESENCE].page == "types object, required no"
    assert "tools" in only_contract
    assert not [path for path in only_contract if path.startswith("tools")][1:]
    assert "messages[].content" in only_contract


def test_null_that_only_the_contract_accepts_is_a_difference_and_refused_null_is_not(native: Contract) -> None:
    rows = compared(LINES, native)
    assert rows["seed", "nullable"].status is DriftStatus.ONLY_IN_CONTRACT
    assert ("model", "nullable") not in rows
    assert ("top_k", "nullable") not in rows  # its requirement level is not MUST


def test_ignored_elements_agree_only_with_a_contract_that_accepts_them(native: Contract) -> None:
    narrow = {"type": "array", "items": {"type": "integer", "minimum": 0}}
    parameter = replace(native.parameters["stop_token_ids"], schema=narrow)
    contract = replace(native, parameters={**native.parameters, "stop_token_ids": parameter})
    rows = compared(LINES, contract)
    assert rows["stop_token_ids[]", "beyond"].status is DriftStatus.ONLY_IN_PAGE
    assert rows["stop_token_ids[]", "format"].status is DriftStatus.ONLY_IN_PAGE


def test_fields_from_other_documents_are_not_expected_in_a_table_of_the_page(native: Contract) -> None:
    page = "# Response\n\n| Parameter | Type | Description |\n|---|---|---|\n| id | string | Its name. |\n"
    paths = {
        row.path for row in compare_page(read_facts(read_page(page.encode(), "own")), native) if row.part == "response"
    }
    assert {"id", "object", "choices", "usage"} <= paths
    assert not {"choices[].logprobs", "choices[].message.reasoning_content"} & paths
    longer = page + "".join(
        f"| {name} | {kind} | . |\n" for name, kind in (("choices", "list"), ("choices.index", "int"))
    )
    paths = {
        row.path
        for row in compare_page(read_facts(read_page(longer.encode(), "own")), native)
        if row.part == "response"
    }
    assert {"choices[].message", "choices[].finish_reason"} <= paths
    assert "choices[].logprobs" not in paths


def test_a_part_without_a_table_is_reported_as_a_whole(native: Contract) -> None:
    tables = {row.part: row for row in compare_page(facts(LINES), native) if row.member == "table"}
    assert {"response", "stream", "errors"} == set(tables)
    assert {DriftStatus.ONLY_IN_CONTRACT} == {row.status for row in tables.values()}


def test_parts_from_other_documents_are_not_expected() -> None:
    contract = load("mindie-1.0")  # its page describes only the request; its answers come from another page
    assert {"request"} == {row.part for row in compare_page(facts(LINES), contract)}


def test_unread_text_is_identified_by_a_hash_and_its_numbers(native: Contract) -> None:
    usual = compared(LINES, native)["stream", UNREAD]
    assert usual.words == ("It is best left alone for 3 days",)
    assert usual.page is not None
    assert usual.page.endswith(" 3")
    other = compared(changed("3 days", "4 days"), native)["stream", UNREAD]
    assert other.page is not None
    assert other.page.endswith(" 4")
    assert other.page[:8] != usual.page[:8]


def test_unread_rows_are_only_in_the_page(native: Contract) -> None:
    page = html_page(LINES).replace('<td colspan="2"><p>top_k</p></td>', "<td><p>top_k</p></td>")
    rows = [row for row in compare_page(read_facts(read_page(page.encode(), "own")), native) if row.member == "row"]
    assert [row.status for row in rows] == [DriftStatus.ONLY_IN_PAGE]
    assert "top_k" in rows[0].path


def test_unsupported_parameters_agree_if_the_contract_does_not_have_them() -> None:
    contract = load("ovms")
    page = "Request#\n\nUnsupported params#\n\n  • logit_bias\n\n  • temperature\n\n  • novelty\n\nEnd#\n"
    differences = compare_page(read_facts(read_page(page.encode(), "own")), contract)
    rows = {difference.path: difference for difference in differences if difference.member in ("supported", PRESENCE)}
    assert [rows[name].status for name in ("logit_bias", "temperature", "novelty", "min_p")] == [
        *(DriftStatus.AGREES, DriftStatus.DIFFERS, DriftStatus.AGREES, DriftStatus.ONLY_IN_CONTRACT)
    ]


@pytest.fixture
def reasons(monkeypatch: pytest.MonkeyPatch, native: Contract) -> dict[Any, Reason]:
    """Record every difference of the test page."""
    recorded = {
        (row.part, row.path, row.member, row.page, None if row.member == UNREAD else row.contract): Reason(
            "checked", "So it is."
        )
        for row in compare_page(facts(LINES), native)
        if row.status is not DriftStatus.AGREES
    }
    monkeypatch.setattr(recorded_differences, "load_recorded", lambda dialect: recorded)
    return recorded


def test_recorded_differences_are_no_drift_and_new_values_are(reasons: dict[Any, Reason], native: Contract) -> None:
    explained = explain(compare_page(facts(LINES), native), native.name)
    assert [row for row in explained if row.is_drift] == []
    assert sum(row.reason is not None for row in explained) == len(reasons)
    (new,) = [
        row.difference
        for row in explain(compare_page(facts(changed("[0.0, 2.0]", "[0.0, 2.5]")), native), native.name)
        if row.is_drift
    ]
    assert (new.path, new.page, new.contract) == ("temperature", "[0, 2.5]", "[0, 2]")


def test_a_recorded_attribute_with_another_value_is_drift(reasons: dict[Any, Reason], native: Contract) -> None:
    lines = changed("[0, 2147483647]", "(0, 2147483647]")
    (first,) = [row for row in explain(compare_page(facts(lines), native), native.name) if row.is_drift]
    row = first.difference
    reasons[row.part, row.path, row.member, row.page, row.contract] = CHECKED
    assert not any(row.is_drift for row in explain(compare_page(facts(lines), native), native.name))
    (second,) = [
        row
        for row in explain(compare_page(facts(changed("[0, 2147483647]", "(0, 99]")), native), native.name)
        if row.is_drift
    ]
    assert second.difference.page == "(0, 99]"


def test_new_unread_text_is_shown_with_the_recorded_numbers(reasons: dict[Any, Reason], native: Contract) -> None:
    lines = changed("3 days", "4 days")
    (new,) = [row for row in explain(compare_page(facts(lines), native), native.name) if row.is_drift]
    row = new.difference
    assert (row.path, row.status, row.words) == ("stream", DriftStatus.DIFFERS, ("It is best left alone for 4 days",))
    assert (str(row.page)[-2:], str(row.contract)[-2:]) == (" 4", " 3")


def test_a_recorded_difference_that_no_longer_occurs_is_stale(reasons: dict[Any, Reason], native: Contract) -> None:
    assert find_stale(compare_page(facts(LINES), native), native.name) == []
    reasons["request", "top_k", "range", "(0, 1]", "[0, 2147483647]"] = Reason("old", "It was so.")
    assert find_stale(compare_page(facts(LINES), native), native.name) == [
        ("request", "top_k", "range", "(0, 1]", "[0, 2147483647]")
    ]


@pytest.mark.parametrize("dialect", DIALECTS)
def test_the_recorded_values_of_the_contract_are_up_to_date(dialect: str) -> None:
    """A change of the contract is therefore detected without the documents."""
    ours = contract_facts(load(dialect))
    wrong = []
    for part, path, attribute, _, contract in recorded_differences.load_recorded(dialect):
        if attribute in (UNREAD, "table"):
            continue
        fact = ours[part, path].fact
        actual = format_value(attribute, getattr(fact, attribute)) if attribute != PRESENCE else contract
        if actual != contract:
            wrong.append((path, attribute, contract, actual))
    assert wrong == []


@pytest.mark.parametrize("dialect", DIALECTS)
def test_every_recorded_difference_has_a_reason(dialect: str) -> None:
    for key, reason in recorded_differences.load_recorded(dialect).items():
        assert reason.slug, key
        assert reason.text.endswith("."), key


def test_every_reason_in_the_file_is_used() -> None:
    data = read(recorded_differences.FILE)
    cited = {row["reason"] for row in data["differences"]}
    cited |= {
        slug
        for parts in data["unread"].values()
        for rows in parts.values()
        for row in rows.values()
        for slug in row["reasons"]
    }
    assert set(data["reasons"]) <= cited
    assert not set(data["reasons"]) & set(interpretations())


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"reason": "no-such-reading"}, "unknown slug 'no-such-reading'"),
        ({"reason": "rules/no-such-rule"}, "unknown slug 'rules/no-such-rule'"),
        ({"reason": "ovms-ranges"}, "the interpretation ovms-ranges is not about siliconstorm-api"),
        ({"dialects": ["siliconstorm", "unknown"]}, "unknown dialects: unknown"),
        ({"typo": 1}, "unknown key typo"),
    ],
)
def test_invalid_rows_are_refused(monkeypatch: pytest.MonkeyPatch, change: dict[str, Any], message: str) -> None:
    row = {
        "dialects": ["siliconstorm"],
        "part": "request",
        "path": "p",
        "attribute": "range",
        "reason": "own",
        **change,
    }
    data = {"reasons": {"own": "So it is."}, "differences": [row], "unread": {}}
    monkeypatch.setattr(recorded_differences, "read", lambda path: data)
    with pytest.raises(ContractError, match=message):
        recorded_differences.load_recorded.__wrapped__("siliconstorm")  # bypass its cache


def test_duplicate_rows_and_duplicate_slugs_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    row = {"dialects": ["siliconstorm"], "part": "request", "path": "p", "attribute": "range", "reason": "own"}
    data = {"reasons": {"own": "So it is."}, "differences": [row, row], "unread": {}}
    monkeypatch.setattr(recorded_differences, "read", lambda path: data)
    with pytest.raises(ContractError, match="recorded twice for siliconstorm"):
        recorded_differences.load_recorded.__wrapped__("siliconstorm")
    monkeypatch.setattr(recorded_differences, "read", lambda path: {**data, "reasons": {"timings": "So it is."}})
    with pytest.raises(ContractError, match=r"duplicate slugs, .*: timings"):
        recorded_differences.load_recorded.__wrapped__("siliconstorm")
