"""Compare the facts of a page with those of the contract, attribute by attribute."""

from __future__ import annotations

import json
from dataclasses import dataclass
from enum import StrEnum
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Final

from openapi.reading.compare.contract_facts import ContractFact, contract_facts
from openapi.reading.facts.fact import ATTRIBUTES, RANGES, Fact, is_stated
from openapi.reading.facts.facts import unread_numbers
from openapi.reading.grammar.interval import Interval, format_range, same_values
from openapi.reading.grammar.statement import UNSTATED, DescribedDefault

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from openapi.contract.contract import Contract
    from openapi.reading.facts.facts import Facts
    from openapi.reading.pages.row import Part

EVENT: Final = "data"  # the name that pages give to the object in an event of a stream
PRESENCE: Final = "presence"
UNREAD: Final = "unread text"
_FORMATS: Final = {
    f"{sign}int{bits}": Interval(-(2 ** (bits - 1)) if sign == "" else 0, 2 ** (bits - (sign == "")) - 1)
    for sign in ("", "u")
    for bits in (8, 16, 32, 64)
}
Key = tuple[str, str]


class DriftStatus(StrEnum):
    """The result of comparing one attribute of page and contract."""

    AGREES = "agrees"
    DIFFERS = "differs"
    ONLY_IN_PAGE = "only in the page"
    ONLY_IN_CONTRACT = "only in the contract"


@dataclass(frozen=True, slots=True)
class DriftRow:
    """One attribute of one parameter or field, as formatted by each side; None if a side does not state it.

    `member`: the attribute, or `presence` for a whole parameter, `table` for a whole part of the interface, `row` for a
        passage that could not be turned into a row, and UNREAD for unread text. The name is the key in the JSON
        output.
    line: the line in the page, or 0.
    words: the unread text.
    """

    part: Part
    path: str
    member: str
    page: str | None
    contract: str | None
    status: DriftStatus
    line: int = 0
    words: tuple[str, ...] = ()


def compare_page(facts: Facts, contract: Contract) -> list[DriftRow]:
    """Compare every attribute that either side states, in the order of the page and then of the contract.

    Facts that the contract takes from another document than its own are not expected in the page.
    """
    ours = contract_facts(contract)
    theirs = {key: fact for fact in facts.facts if (key := fact_key(fact))}
    rows: list[DriftRow] = []
    for key, fact in theirs.items():
        rows += _compare_fact(key, fact, ours[key], theirs) if key in ours else _only_in_page(key, fact, ours, theirs)
        rows += _unread_text(key, fact)
    rows += [
        DriftRow(
            "request", passage.text, "row", f"unread: {passage.reason}", None, DriftStatus.ONLY_IN_PAGE, passage.line
        )
        for passage in facts.unread
    ]
    rows += _only_in_contract(ours, theirs, contract.document.id)
    return rows


def _only_in_contract(
    ours: Mapping[Key, ContractFact], theirs: Mapping[Key, Fact], document: str
) -> Iterator[DriftRow]:
    """Yield the parts of the interface, and then the parameters and fields, that only the contract states."""
    parts = {part for part, _ in theirs}
    from_elsewhere = _from_other_documents(ours, document)
    for part in dict.fromkeys(our.fact.part for our in ours.values()):
        own = [our for our in ours.values() if our.fact.part == part and (part, our.fact.path) not in from_elsewhere]
        if part not in parts and own:
            yield DriftRow(part, "", "table", None, "fields", DriftStatus.ONLY_IN_CONTRACT)
    for key, our in ours.items():
        if key[0] not in parts or key in theirs or key in from_elsewhere or _is_implied(our.fact, theirs):
            continue
        if not _is_below_missing(key, ours, theirs):
            summary = _summarize(our.fact)
            yield DriftRow(our.fact.part, key[1], PRESENCE, None, summary, DriftStatus.ONLY_IN_CONTRACT)


def _is_implied(fact: Fact, theirs: Mapping[Key, Fact]) -> bool:
    """Return whether the page describes fields of an object that only the contract states as such."""
    return fact.types == ("object",) and any(
        part == fact.part and path.startswith(f"{fact.path}.") for part, path in theirs
    )


def fact_key(fact: Fact) -> Key | None:
    """Return part and path, without the name of the event of a stream; None for the event itself."""
    if fact.part != "stream":
        return fact.part, fact.path
    name, _, rest = fact.path.partition(".")
    return (fact.part, rest if name == EVENT else fact.path) if rest or name != EVENT else None


def _compare_fact(key: Key, fact: Fact, ours: ContractFact, theirs: Mapping[Key, Fact]) -> Iterator[DriftRow]:
    for attribute in ATTRIBUTES:
        page, contract = getattr(fact, attribute), getattr(ours.fact, attribute)
        if not is_stated(attribute, page) and not _needs_reason(attribute, contract, fact, theirs):
            continue
        if agree(attribute, fact, ours.fact):
            status = DriftStatus.AGREES
        elif not is_stated(attribute, page):
            status = DriftStatus.ONLY_IN_CONTRACT
        else:
            status = DriftStatus.DIFFERS if is_stated(attribute, contract) else DriftStatus.ONLY_IN_PAGE
        sides = (format_value(attribute, page), format_value(attribute, contract))
        yield DriftRow(fact.part, key[1], attribute, *sides, status, fact.line)


def _needs_reason(attribute: str, contract: Any, fact: Fact, theirs: Mapping[Key, Fact]) -> bool:
    """Return whether the contract needs a reason to state an attribute that the page does not state.

    These need none: refusing null, which follows from the type; whether a field of an answer is always sent, which
    pages never state; a format, which is compared through its range; and the type of an object whose fields the page
    describes.
    """
    if not is_stated(attribute, contract) or attribute in ("required", "format", "supported"):
        return False
    if attribute == "nullable":
        return contract is True
    return attribute != "types" or not any(path.startswith(f"{fact.path}.") for _, path in theirs)


def agree(attribute: str, page: Fact, contract: Fact) -> bool:
    """Return whether page and contract state the same value of an attribute."""
    one, other = getattr(page, attribute), getattr(contract, attribute)
    if attribute in RANGES:
        return same_values(one, other, whole=attribute != "range" or "integer" in contract.types)
    if attribute == "format":
        return one == other or _range_within_format(contract, page) or (page.beyond is not None and not contract.range)
    if attribute == "beyond":
        return one == f"ignored outside {page.format}" and not contract.range and contract.format is None
    if attribute == "empty":
        return contract.nullable is True and not any(item.low for item in contract.items)
    if attribute == "default" and isinstance(one, DescribedDefault):
        return isinstance(other, DescribedDefault) and one.lower() in other.lower()
    if attribute in ("enum", "formats", "types"):
        return sorted(map(repr, one)) == sorted(map(repr, other))
    if attribute == "default" and isinstance(one, (int, float)) and isinstance(other, (int, float)):
        return isinstance(one, bool) == isinstance(other, bool) and one == other
    return bool(one == other)


def _range_within_format(contract: Fact, page: Fact) -> bool:
    """Return whether the range of the contract is inside the range of the page's integer format."""
    limits = _FORMATS.get(page.format or "")
    return bool(contract.range) and all(
        isinstance(low := limits and limits.low, int)
        and isinstance(high := limits and limits.high, int)
        and isinstance(interval.low, int)
        and isinstance(interval.high, int)
        and low <= interval.low
        and interval.high <= high
        for interval in contract.range
    )


def _only_in_page(
    key: Key, fact: Fact, ours: Mapping[Key, ContractFact], theirs: Mapping[Key, Fact]
) -> Iterator[DriftRow]:
    if not fact.supported:  # page and contract agree that the parameter does not exist
        yield DriftRow(
            fact.part, key[1], "supported", format_value("supported", False), None, DriftStatus.AGREES, fact.line
        )
    elif not _is_below_missing(key, theirs, ours):
        yield DriftRow(fact.part, key[1], PRESENCE, _summarize(fact), None, DriftStatus.ONLY_IN_PAGE, fact.line)


def _is_below_missing(
    key: Key, here: Mapping[Key, ContractFact | Fact], there: Mapping[Key, ContractFact | Fact]
) -> bool:
    """Return whether a path is inside another one that only this side has; only the outer one is reported."""
    return any((key[0], parent) in here and not _has(there, key[0], parent) for parent in _parents(key[1]))


def _has(side: Mapping[Key, ContractFact | Fact], part: str, path: str) -> bool:
    """Return whether a side has a path or fields inside it."""
    return (part, path) in side or any(key[0] == part and key[1].startswith(f"{path}.") for key in side)


def _parents(path: str) -> Iterator[str]:
    """Yield the paths that enclose a path: `a[]` and `a` for `a[].b`."""
    while path:
        path = path[:-2] if path.endswith("[]") else path.rpartition(".")[0]
        if path:
            yield path


def _from_other_documents(ours: Mapping[Key, ContractFact], document: str) -> set[Key]:
    """Return the facts that the contract takes from other documents, and all facts inside them."""
    keys: set[Key] = set()
    for (part, path), our in ours.items():
        if our.source.partition("#")[0] != document or any((part, parent) in keys for parent in _parents(path)):
            keys.add((part, path))
    return keys


def _unread_text(key: Key, fact: Fact) -> Iterator[DriftRow]:
    """Yield the unread text of a fact, identified by a hash and its numbers, because the text belongs to the vendor."""
    if fact.unread:
        text = " ".join(" ".join(fact.unread).split())
        mark = f"{sha256(text.encode()).hexdigest()[:8]} {','.join(unread_numbers(fact))}".strip()
        yield DriftRow(fact.part, key[1], UNREAD, mark, None, DriftStatus.ONLY_IN_PAGE, fact.line, fact.unread)


def _summarize(fact: Fact) -> str:
    """Format all attributes of a fact on one line."""
    values = {attribute: format_value(attribute, getattr(fact, attribute)) for attribute in ATTRIBUTES}
    stated = [f"{name} {value}" for name, value in values.items() if name != "supported" and value is not None]
    return ", ".join(stated) or "named"


def format_value(attribute: str, value: Any) -> str | None:
    """Format the value of an attribute; None if it is not stated."""
    if not is_stated(attribute, value) or value is UNSTATED:
        return None
    if attribute in RANGES:
        return format_range(value)
    if attribute in ("types", "formats"):
        return " or ".join(value)
    if isinstance(value, bool) and attribute != "default":
        return "yes" if value else "no"
    if isinstance(value, str) and (attribute != "default" or isinstance(value, DescribedDefault)):
        return str(value)
    return json.dumps(value, ensure_ascii=False)
