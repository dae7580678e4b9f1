"""Drift: what a page says, held against the contract, member by member."""

from __future__ import annotations

import json
from dataclasses import dataclass
from enum import StrEnum
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Final

from openapi.reading.compare.contract_facts import Held, held
from openapi.reading.facts.fact import MEMBERS, RANGES, Fact, is_stated
from openapi.reading.facts.facts import figures
from openapi.reading.grammar.interval import Interval, same, spoken
from openapi.reading.grammar.statement import UNSTATED, DescribedDefault

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from openapi.contract.contract import Contract
    from openapi.reading.facts.facts import Facts
    from openapi.reading.pages.row import Part

EVENT: Final = "data"  # what pages call the object of one event of a stream
PRESENCE: Final = "presence"
WORDING: Final = "words left to a person"
_FORMATS: Final = {
    f"{sign}int{bits}": Interval(-(2 ** (bits - 1)) if sign == "" else 0, 2 ** (bits - (sign == "")) - 1)
    for sign in ("", "u")
    for bits in (8, 16, 32, 64)
}
Key = tuple[str, str]


class Status(StrEnum):
    """How page and contract stand to each other in one member."""

    AGREES = "agrees"
    DIFFERS = "differs"
    ONLY_IN_PAGE = "only in the page"
    ONLY_IN_CONTRACT = "only in the contract"


@dataclass(frozen=True, slots=True)
class Difference:
    """One member of one parameter or field, on both sides, in words. None: that side does not state it.

    `line` is the page's, 0 where it has none; `words` are those of it that are left to a person. Members that agree
    are differences too, of the status `agrees`.
    """

    part: Part
    path: str
    member: str
    page: str | None
    contract: str | None
    status: Status
    line: int = 0
    words: tuple[str, ...] = ()


def compare(facts: Facts, contract: Contract) -> list[Difference]:
    """Every member that either side states, in the order of the page and then of the contract.

    What the contract takes from another document than its own is not looked for in the page.
    """
    ours = held(contract)
    theirs = {key: fact for fact in facts.facts if (key := fact_key(fact))}
    parts = {part for part, _ in theirs}
    found: list[Difference] = []
    for key, fact in theirs.items():
        found += _both(key, fact, ours[key], theirs) if key in ours else _only_in_page(key, fact, ours, theirs)
        found += _wording(key, fact)
    found += [
        Difference("request", left.text, "row", f"unread: {left.why}", None, Status.ONLY_IN_PAGE, left.line)
        for left in facts.left
    ]
    away = _elsewhere(ours, contract.document.id)
    for part in dict.fromkeys(our.fact.part for our in ours.values()):
        own = [our for our in ours.values() if our.fact.part == part and (part, our.fact.path) not in away]
        if part not in parts and own:
            found.append(Difference(part, "", "table", None, "fields", Status.ONLY_IN_CONTRACT))
    for key, each in ours.items():
        if key[0] not in parts or key in theirs or key in away or _is_implied(each.fact, theirs):
            continue
        if not _is_below_missing(key, ours, theirs):
            found.append(
                Difference(each.fact.part, key[1], PRESENCE, None, _outline(each.fact), Status.ONLY_IN_CONTRACT)
            )
    return found


def _is_implied(fact: Fact, theirs: Mapping[Key, Fact]) -> bool:
    """Whether the page describes members of what the contract calls an object."""
    return fact.types == ("object",) and any(
        part == fact.part and path.startswith(f"{fact.path}.") for part, path in theirs
    )


def fact_key(fact: Fact) -> Key | None:
    """Part and path, without the name of the event; None for the event itself."""
    if fact.part != "stream":
        return fact.part, fact.path
    name, _, rest = fact.path.partition(".")
    return (fact.part, rest if name == EVENT else fact.path) if rest or name != EVENT else None


def _both(key: Key, fact: Fact, ours: Held, theirs: Mapping[Key, Fact]) -> Iterator[Difference]:
    for member in MEMBERS:
        page, contract = getattr(fact, member), getattr(ours.fact, member)
        if not is_stated(member, page) and not _counts(member, contract, fact, theirs):
            continue
        if _agree(member, fact, ours.fact):
            status = Status.AGREES
        elif not is_stated(member, page):
            status = Status.ONLY_IN_CONTRACT
        else:
            status = Status.DIFFERS if is_stated(member, contract) else Status.ONLY_IN_PAGE
        yield Difference(fact.part, key[1], member, words(member, page), words(member, contract), status, fact.line)


def _counts(member: str, contract: Any, fact: Fact, theirs: Mapping[Key, Fact]) -> bool:
    """Whether something that the page does not state is a statement of the contract that needs a reason.

    Refusing null is none, for it follows from the type; nor is who must send a member of an answer, which pages never
    say; nor a format, which is compared through its range; nor the type of what the page describes by its members.
    """
    if not is_stated(member, contract) or member in ("required", "format", "supported"):
        return False
    if member == "nullable":
        return contract is True
    return member != "types" or not any(path.startswith(f"{fact.path}.") for _, path in theirs)


def _agree(member: str, page: Fact, contract: Fact) -> bool:
    one, other = getattr(page, member), getattr(contract, member)
    if member in RANGES:
        return same(one, other, whole=member != "range" or "integer" in contract.types)
    if member == "format":
        return one == other or _within(contract, page) or (page.beyond is not None and not contract.range)
    if member == "beyond":
        return one == f"ignored outside {page.format}" and not contract.range and contract.format is None
    if member == "empty":
        return contract.nullable is True and not any(item.low for item in contract.items)
    if member == "default" and isinstance(one, DescribedDefault):
        return isinstance(other, DescribedDefault) and one.lower() in other.lower()
    if member in ("enum", "formats", "types"):
        return sorted(map(repr, one)) == sorted(map(repr, other))
    if member == "default" and isinstance(one, (int, float)) and isinstance(other, (int, float)):
        return isinstance(one, bool) == isinstance(other, bool) and one == other
    return bool(one == other)


def _within(contract: Fact, page: Fact) -> bool:
    """Whether the contract's range lies inside that of the page's format."""
    limits = _FORMATS.get(page.format or "")
    return bool(contract.range) and all(
        isinstance(low := limits and limits.low, int)
        and isinstance(high := limits and limits.high, int)
        and isinstance(each.low, int)
        and isinstance(each.high, int)
        and low <= each.low
        and each.high <= high
        for each in contract.range
    )


def _only_in_page(key: Key, fact: Fact, ours: Mapping[Key, Held], theirs: Mapping[Key, Fact]) -> Iterator[Difference]:
    if not fact.supported:  # the page says that there is no such thing, and the contract has none
        yield Difference(fact.part, key[1], "supported", words("supported", False), None, Status.AGREES, fact.line)
    elif not _is_below_missing(key, theirs, ours):
        yield Difference(fact.part, key[1], PRESENCE, _outline(fact), None, Status.ONLY_IN_PAGE, fact.line)


def _is_below_missing(key: Key, here: Mapping[Key, Held | Fact], there: Mapping[Key, Held | Fact]) -> bool:
    """Whether a path lies below another one that only this side has: that one is named, and stands for both."""
    return any((key[0], above) in here and not _describes(there, key[0], above) for above in _above(key[1]))


def _describes(side: Mapping[Key, Held | Fact], part: str, path: str) -> bool:
    """Whether a side has the path, or members of it."""
    return (part, path) in side or any(each[0] == part and each[1].startswith(f"{path}.") for each in side)


def _above(path: str) -> Iterator[str]:
    """The paths over this one: `a[].b` lies below `a[]` and `a`."""
    while path:
        path = path[:-2] if path.endswith("[]") else path.rpartition(".")[0]
        if path:
            yield path


def _elsewhere(ours: Mapping[Key, Held], document: str) -> set[Key]:
    """What the contract takes from another document, and all below it."""
    away: set[Key] = set()
    for (part, path), each in ours.items():
        if each.source.partition("#")[0] != document or any((part, above) in away for above in _above(path)):
            away.add((part, path))
    return away


def _wording(key: Key, fact: Fact) -> Iterator[Difference]:
    """The words that are left to a person: known by their figures and a hash, since they belong to the vendor."""
    if fact.unread:
        text = " ".join(" ".join(fact.unread).split())
        mark = f"{sha256(text.encode()).hexdigest()[:8]} {','.join(figures(fact))}".strip()
        yield Difference(fact.part, key[1], WORDING, mark, None, Status.ONLY_IN_PAGE, fact.line, fact.unread)


def _outline(fact: Fact) -> str:
    """Everything a fact says, on one line."""
    said = [f"{member} {words(member, getattr(fact, member))}" for member in MEMBERS if member != "supported"]
    kept = [each for each in said if not each.endswith(" None")]
    return ", ".join(kept) or "named"


def words(member: str, value: Any) -> str | None:
    """A member's value in words; None: it is not stated."""
    if not is_stated(member, value) or value is UNSTATED:
        return None
    if member in RANGES:
        return spoken(value)
    if member in ("types", "formats"):
        return " or ".join(value)
    if isinstance(value, bool) and member != "default":
        return "yes" if value else "no"
    if isinstance(value, str) and (member != "default" or isinstance(value, DescribedDefault)):
        return str(value)
    return json.dumps(value, ensure_ascii=False)
