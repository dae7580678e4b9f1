"""Drift: a page against a contract, member by member, and the table of what differs on purpose."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from openapi.contract.contract import load, names
from openapi.contract.interpretations import interpretations
from openapi.contract.resolution import ContractError, read
from openapi.reading.compare import recorded_differences as recorded
from openapi.reading.compare.contract_facts import held
from openapi.reading.compare.drift import PRESENCE, WORDING, Difference, Status, compare, words
from openapi.reading.compare.recorded_differences import Reason, judge, stale
from openapi.reading.facts.facts import Facts, facts_of
from openapi.reading.pages.page import rows_of
from openapi.tests.reading.rendering import Line, html_page

if TYPE_CHECKING:
    from openapi.contract.contract import Contract

DIALECTS = sorted(set(names().values()))
TOP = 2**64 - 1
SEEN = Reason("seen", "So it is.")
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
    return facts_of(rows_of(html_page(lines).encode(), "own"))


def compared(lines: list[Line], contract: Contract) -> dict[tuple[str, str], Difference]:
    return {(each.path, each.member): each for each in compare(facts(lines), contract) if each.part == "request"}


def changed(before: str, after: str) -> list[Line]:
    lines = [replace(line, value=line.value.replace(before, after)) for line in LINES]
    assert lines != LINES
    return lines


@pytest.fixture
def native() -> Contract:
    return load("siliconstorm")


def test_what_page_and_contract_both_say_agrees(native: Contract) -> None:
    found = compared(LINES, native)
    for member in (
        *(("model", "types"), ("messages[].role", "enum"), ("stream", "default"), ("temperature", "range")),
        *(("temperature", "default"), ("temperature", "required"), ("top_k", "range"), ("top_k", "format")),
        *(("max_tokens", "range"), ("max_tokens", "default"), ("seed", "range"), ("seed", "format")),
        *(("stop_token_ids[]", "format"), ("stop_token_ids[]", "beyond"), ("stop", "types"), ("stop", "empty")),
    ):
        assert found[member].status is Status.AGREES, member


@pytest.mark.parametrize(
    ("before", "after", "path", "member", "page", "contract"),
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
    native: Contract, before: str, after: str, path: str, member: str, page: str, contract: str | None
) -> None:
    usual = compared(LINES, native)
    actual = compared(changed(before, after), native)
    new = actual[path, member]
    assert new.status in (Status.DIFFERS, Status.ONLY_IN_PAGE)
    assert (new.page, new.contract) == (page, contract)
    others = {key for key in actual if actual[key].status != usual.get(key, new).status} - {(path, member)}
    assert others <= {(path, "format"), (path, "range"), ("stop_token_ids[]", "format"), ("stop_token_ids[]", "beyond")}


def test_rows_on_one_side_alone_are_named_once_with_all_that_lies_below(native: Contract) -> None:
    found = compared(
        [*LINES, Line(("novelty",), "Optional", "dict type."), Line(("novelty", "in"), "No", "int type.")], native
    )
    only_page = [path for (path, member), each in found.items() if member == PRESENCE and each.page]
    only_contract = [path for (path, member), each in found.items() if member == PRESENCE and each.contract]
    assert only_page == ["novelty"]
    assert found["novelty", PRESENCE].page == "types object, required no"
    assert "tools" in only_contract
    assert not [path for path in only_contract if path.startswith("tools")][1:]
    assert "messages[].content" in only_contract


def test_null_that_only_the_contract_takes_is_a_difference_and_null_that_it_refuses_is_none(native: Contract) -> None:
    found = compared(LINES, native)
    assert found["seed", "nullable"].status is Status.ONLY_IN_CONTRACT
    assert ("model", "nullable") not in found
    assert ("top_k", "nullable") not in found  # where it is not settled


def test_elements_that_are_ignored_agree_only_with_a_contract_that_takes_them(native: Contract) -> None:
    narrow = {"type": "array", "items": {"type": "integer", "minimum": 0}}
    parameter = replace(native.parameters["stop_token_ids"], schema=narrow)
    contract = replace(native, parameters={**native.parameters, "stop_token_ids": parameter})
    found = compared(LINES, contract)
    assert found["stop_token_ids[]", "beyond"].status is Status.ONLY_IN_PAGE
    assert found["stop_token_ids[]", "format"].status is Status.ONLY_IN_PAGE


def test_fields_from_elsewhere_are_not_looked_for_where_the_page_has_a_table(native: Contract) -> None:
    page = "# Response\n\n| Parameter | Type | Description |\n|---|---|---|\n| id | string | Its name. |\n"
    found = {each.path for each in compare(facts_of(rows_of(page.encode(), "own")), native) if each.part == "response"}
    assert {"id", "object", "choices", "usage"} <= found
    assert not {"choices[].logprobs", "choices[].message.reasoning_content"} & found
    every = page + "".join(
        f"| {name} | {kind} | . |\n" for name, kind in (("choices", "list"), ("choices.index", "int"))
    )
    found = {each.path for each in compare(facts_of(rows_of(every.encode(), "own")), native) if each.part == "response"}
    assert {"choices[].message", "choices[].finish_reason"} <= found
    assert "choices[].logprobs" not in found


def test_a_part_without_a_table_is_named_as_a_whole(native: Contract) -> None:
    tables = {each.part: each for each in compare(facts(LINES), native) if each.member == "table"}
    assert {"response", "stream", "errors"} == set(tables)
    assert {Status.ONLY_IN_CONTRACT} == {each.status for each in tables.values()}


def test_what_the_contract_takes_from_elsewhere_is_not_looked_for() -> None:
    contract = load("mindie-1.0")  # whose page has the request alone; its answers come from a sibling page
    assert {"request"} == {each.part for each in compare(facts(LINES), contract)}


def test_words_that_are_left_are_known_by_a_hash_and_their_figures(native: Contract) -> None:
    usual = compared(LINES, native)["stream", WORDING]
    assert usual.words == ("It is best left alone for 3 days",)
    assert usual.page is not None
    assert usual.page.endswith(" 3")
    other = compared(changed("3 days", "4 days"), native)["stream", WORDING]
    assert other.page is not None
    assert other.page.endswith(" 4")
    assert other.page[:8] != usual.page[:8]


def test_rows_that_are_left_are_only_in_the_page(native: Contract) -> None:
    page = html_page(LINES).replace('<td colspan="2"><p>top_k</p></td>', "<td><p>top_k</p></td>")
    found = [each for each in compare(facts_of(rows_of(page.encode(), "own")), native) if each.member == "row"]
    assert [each.status for each in found] == [Status.ONLY_IN_PAGE]
    assert "top_k" in found[0].path


def test_parameters_that_are_not_supported_agree_when_the_contract_has_none() -> None:
    contract = load("ovms")
    page = "Request#\n\nUnsupported params#\n\n  • logit_bias\n\n  • temperature\n\n  • novelty\n\nEnd#\n"
    differences = compare(facts_of(rows_of(page.encode(), "own")), contract)
    found = {difference.path: difference for difference in differences if difference.member in ("supported", PRESENCE)}
    assert [found[name].status for name in ("logit_bias", "temperature", "novelty", "min_p")] == [
        *(Status.AGREES, Status.DIFFERS, Status.AGREES, Status.ONLY_IN_CONTRACT)
    ]


@pytest.fixture
def table(monkeypatch: pytest.MonkeyPatch, native: Contract) -> dict[Any, Reason]:
    """As if a person had recorded everything in which our own page differs."""
    kept = {
        (each.part, each.path, each.member, each.page, None if each.member == WORDING else each.contract): Reason(
            "seen", "So it is."
        )
        for each in compare(facts(LINES), native)
        if each.status is not Status.AGREES
    }
    monkeypatch.setattr(recorded, "recorded", lambda dialect: kept)
    return kept


def test_what_is_recorded_does_not_drift_and_any_new_value_does(table: dict[Any, Reason], native: Contract) -> None:
    judged = judge(compare(facts(LINES), native), native.name)
    assert [each for each in judged if each.drifts] == []
    assert sum(each.reason is not None for each in judged) == len(table)
    (new,) = [
        each.difference
        for each in judge(compare(facts(changed("[0.0, 2.0]", "[0.0, 2.5]")), native), native.name)
        if each.drifts
    ]
    assert (new.path, new.page, new.contract) == ("temperature", "[0, 2.5]", "[0, 2]")


def test_a_recorded_member_with_another_value_drifts_too(table: dict[Any, Reason], native: Contract) -> None:
    lines = changed("[0, 2147483647]", "(0, 2147483647]")
    (first,) = [each for each in judge(compare(facts(lines), native), native.name) if each.drifts]
    one = first.difference
    table[one.part, one.path, one.member, one.page, one.contract] = SEEN
    assert not any(each.drifts for each in judge(compare(facts(lines), native), native.name))
    (second,) = [
        each
        for each in judge(compare(facts(changed("[0, 2147483647]", "(0, 99]")), native), native.name)
        if each.drifts
    ]
    assert second.difference.page == "(0, 99]"


def test_new_words_stand_beside_the_ones_that_were_seen(table: dict[Any, Reason], native: Contract) -> None:
    lines = changed("3 days", "4 days")
    (new,) = [each for each in judge(compare(facts(lines), native), native.name) if each.drifts]
    one = new.difference
    assert (one.path, one.status, one.words) == ("stream", Status.DIFFERS, ("It is best left alone for 4 days",))
    assert (str(one.page)[-2:], str(one.contract)[-2:]) == (" 4", " 3")


def test_what_is_recorded_and_gone_is_stale(table: dict[Any, Reason], native: Contract) -> None:
    assert stale(compare(facts(LINES), native), native.name) == []
    table["request", "top_k", "range", "(0, 1]", "[0, 2147483647]"] = Reason("old", "It was so.")
    assert stale(compare(facts(LINES), native), native.name) == [
        ("request", "top_k", "range", "(0, 1]", "[0, 2147483647]")
    ]


@pytest.mark.parametrize("dialect", DIALECTS)
def test_the_table_says_of_the_contract_what_the_contract_says(dialect: str) -> None:
    """So a change of the data shows here, with no page at hand."""
    ours = held(load(dialect))
    wrong = []
    for part, path, member, _, contract in recorded.recorded(dialect):
        if member in (WORDING, "table"):
            continue
        fact = ours[part, path].fact
        actual = words(member, getattr(fact, member)) if member != PRESENCE else contract
        if actual != contract:
            wrong.append((path, member, contract, actual))
    assert wrong == []


@pytest.mark.parametrize("dialect", DIALECTS)
def test_every_reason_says_something(dialect: str) -> None:
    for key, reason in recorded.recorded(dialect).items():
        assert reason.slug, key
        assert reason.text.endswith("."), key


def test_the_readings_of_the_table_are_all_cited() -> None:
    data = read(recorded.FILE)
    cited = {row["reading"] for row in data["differences"]}
    cited |= {
        slug
        for parts in data["words"].values()
        for rows in parts.values()
        for row in rows.values()
        for slug in row["as"]
    }
    assert set(data["readings"]) <= cited
    assert not set(data["readings"]) & set(interpretations())


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"reading": "no-such-reading"}, "no reading, rule or schema is called 'no-such-reading'"),
        ({"reading": "rules/no-such-rule"}, "no reading, rule or schema is called 'rules/no-such-rule'"),
        ({"reading": "ovms-ranges"}, "the interpretation ovms-ranges is not about siliconstorm-api"),
        ({"dialects": ["siliconstorm", "nobody"]}, "no dialect is called nobody"),
        ({"typo": 1}, "unknown typo"),
    ],
)
def test_rows_that_mean_nothing_are_refused(
    monkeypatch: pytest.MonkeyPatch, change: dict[str, Any], message: str
) -> None:
    row = {"dialects": ["siliconstorm"], "part": "request", "path": "p", "member": "range", "reading": "own", **change}
    data = {"readings": {"own": "So it is."}, "differences": [row], "words": {}}
    monkeypatch.setattr(recorded, "read", lambda path: data)
    with pytest.raises(ContractError, match=message):
        recorded.recorded.__wrapped__("siliconstorm")  # past its cache


def test_rows_that_stand_twice_and_readings_that_have_a_home_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    row = {"dialects": ["siliconstorm"], "part": "request", "path": "p", "member": "range", "reading": "own"}
    data = {"readings": {"own": "So it is."}, "differences": [row, row], "words": {}}
    monkeypatch.setattr(recorded, "read", lambda path: data)
    with pytest.raises(ContractError, match="recorded twice for siliconstorm"):
        recorded.recorded.__wrapped__("siliconstorm")
    monkeypatch.setattr(recorded, "read", lambda path: {**data, "readings": {"timings": "So it is."}})
    with pytest.raises(ContractError, match="timings: there already"):
        recorded.recorded.__wrapped__("siliconstorm")
