"""The differences that are deliberate: an explicit table, so that any new value on either side is a new difference."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache
from typing import TYPE_CHECKING, Any, Final

from openapi.contract.contract import load, names
from openapi.contract.interpretations import interpretations
from openapi.contract.loading import check_keys
from openapi.contract.resolution import ContractError, read
from openapi.reading.compare.drift import WORDING, Difference, Status

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

FILE: Final = "reading/recorded.yaml"
_ROW: Final = {"dialects", "part", "path", "member", "page", "contract", "reading"}
_WORDS: Final = {"mark", "as"}
Key = tuple[str, str, str, str | None, str | None]  # part, path, member, page, contract


@dataclass(frozen=True, slots=True)
class Reason:
    """Why a difference is deliberate: slugs of readings or places in the contract, and what they say."""

    slug: str
    text: str


@dataclass(frozen=True, slots=True)
class Judged:
    """A difference with its reason. None: nobody has recorded it, so it is drift; what agrees needs none."""

    difference: Difference
    reason: Reason | None

    @property
    def drifts(self) -> bool:
        """Whether it must be looked at."""
        return self.reason is None and self.difference.status is not Status.AGREES


def judge(differences: Iterable[Difference], dialect: str) -> list[Judged]:
    """Each difference with the reason recorded for exactly this difference of this dialect.

    Words left to a person that nobody has seen so are shown beside the figures of those that somebody has.
    """
    table = recorded(dialect)
    marks = {(key[0], key[1]): key[3] for key in table if key[2] == WORDING}
    judged = []
    for difference in differences:
        reason = table.get(_key(difference))
        if difference.member == WORDING and reason is None and (difference.part, difference.path) in marks:
            before = marks[difference.part, difference.path]
            judged.append(Judged(replace(difference, contract=before, status=Status.DIFFERS), None))
            continue
        judged.append(Judged(difference, reason))
    return judged


def stale(differences: Iterable[Difference], dialect: str) -> list[Key]:
    """What is recorded of a dialect and not found any more."""
    found = {_key(difference) for difference in differences}
    return [key for key in recorded(dialect) if key not in found]


def _key(each: Difference) -> Key:
    return each.part, each.path, each.member, each.page, None if each.member == WORDING else each.contract


@cache
def recorded(dialect: str) -> Mapping[Key, Reason]:
    """What is recorded of a dialect. Raises ContractError for rows that mean nothing or cite what is not there."""
    data = read(FILE)
    check_keys(data, {"readings", "differences", "words"}, FILE)
    own: dict[str, str] = data["readings"]
    doubled = sorted(set(own) & set(interpretations()))
    if doubled:
        raise ContractError(f"openapi/{FILE}: {', '.join(doubled)}: there already, in interpretations.yaml")
    table: dict[Key, Reason] = {}
    for row in data["differences"]:
        where = f"openapi/{FILE}: {row.get('path')}/{row.get('member')}"
        check_keys(row, _ROW, where)
        strangers = sorted(set(row["dialects"]) - set(names().values()))
        if strangers:
            raise ContractError(f"{where}: no dialect is called {', '.join(strangers)}")
        if dialect in row["dialects"]:
            key = (row["part"], row["path"], row["member"], row.get("page"), row.get("contract"))
            if key in table:
                raise ContractError(f"{where}: recorded twice for {dialect}")
            table[key] = _reason(row["reading"], own, dialect, where)
    for part, rows in data["words"].get(dialect, {}).items():
        for path, row in rows.items():
            where = f"openapi/{FILE}: words/{dialect}/{part}/{path}"
            check_keys(row, _WORDS, where)
            reasons = [_reason(each, own, dialect, where) for each in row["as"]]
            table[part, path, WORDING, row["mark"], None] = Reason(
                ", ".join(reason.slug for reason in reasons), " ".join(reason.text for reason in reasons)
            )
    return table


def _reason(slug: str, own: Mapping[str, str], dialect: str, where: str) -> Reason:
    """What a slug stands for: a reading, or a rule or schema of the contract."""
    if slug in own:
        return Reason(slug, own[slug])
    contract = load(dialect)
    if slug in interpretations():
        if contract.document.id not in interpretations()[slug].where:
            raise ContractError(f"{where}: the interpretation {slug} is not about {contract.document.id}")
        return Reason(slug, interpretations()[slug].interpretation)
    kind, _, name = slug.partition("/")
    holders: dict[str, Mapping[str, Any]] = {"rules": contract.rules, "schemas": contract.schemas}
    if kind not in holders or name not in holders[kind]:
        raise ContractError(f"{where}: no reading, rule or schema is called {slug!r}")
    if kind == "rules":
        return Reason(slug, contract.rules[name].summary)
    return Reason(slug, str(contract.schemas[name].get("description", name)))
