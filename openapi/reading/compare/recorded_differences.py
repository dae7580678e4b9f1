"""Look up the recorded reasons for differences between a page and the contract, in `recorded.yaml`.

A row of the file is about one pair of values, so a new value on either side is a new difference, even of a parameter
for which an interpretation is recorded. Unread text belongs to the vendor, so the file contains only its hash and its
numbers, and where a person took what it says into account: in a rule, a schema or an interpretation.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache
from typing import TYPE_CHECKING, Any, Final

from openapi.contract.contract import load, names
from openapi.contract.interpretations import interpretations
from openapi.contract.loading import check_keys
from openapi.contract.resolution import read
from openapi.contract.tree.yaml_file import ContractError
from openapi.reading.compare.drift import UNREAD, DriftRow, DriftStatus

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

FILE: Final = "reading/recorded.yaml"
_ROW: Final = {"dialects", "part", "path", "attribute", "page", "contract", "reason"}
_UNREAD: Final = {"mark", "reasons"}
Key = tuple[str, str, str, str | None, str | None]  # part, path, attribute, page, contract


@dataclass(frozen=True, slots=True)
class Reason:
    """Why a difference is deliberate: the slugs of interpretations, rules or schemas, and their texts."""

    slug: str
    text: str


@dataclass(frozen=True, slots=True)
class ExplainedRow:
    """A compared attribute with the reason recorded for its difference, or None."""

    difference: DriftRow
    reason: Reason | None

    @property
    def is_drift(self) -> bool:
        """Whether it differs without a recorded reason."""
        return self.reason is None and self.difference.status is not DriftStatus.AGREES


def explain(differences: Iterable[DriftRow], dialect: str) -> list[ExplainedRow]:
    """Look up the reason that is recorded for exactly these values of each difference.

    Unread text that is not recorded gets the recorded hash and numbers of the old text, if there are any.
    """
    reasons = load_recorded(dialect)
    marks = {(part, path): mark for part, path, attribute, mark, _ in reasons if attribute == UNREAD}
    explained = []
    for difference in differences:
        reason = reasons.get(_key(difference))
        if difference.member == UNREAD and reason is None and (difference.part, difference.path) in marks:
            old_mark = marks[difference.part, difference.path]
            explained.append(ExplainedRow(replace(difference, contract=old_mark, status=DriftStatus.DIFFERS), None))
            continue
        explained.append(ExplainedRow(difference, reason))
    return explained


def find_stale(differences: Iterable[DriftRow], dialect: str) -> list[Key]:
    """Return the recorded differences of a dialect that no longer occur."""
    occurring = {_key(difference) for difference in differences}
    return [key for key in load_recorded(dialect) if key not in occurring]


def _key(row: DriftRow) -> Key:
    return row.part, row.path, row.member, row.page, None if row.member == UNREAD else row.contract


@cache
def load_recorded(dialect: str) -> Mapping[Key, Reason]:
    """Load the recorded differences of a dialect. Raises ContractError for unknown keys, names and slugs."""
    data = read(FILE)
    check_keys(data, {"reasons", "differences", "unread"}, FILE)
    own: dict[str, str] = data["reasons"]
    duplicates = sorted(set(own) & set(interpretations()))
    if duplicates:
        raise ContractError(
            f"openapi/{FILE}: duplicate slugs, already in interpretations.yaml: {', '.join(duplicates)}"
        )
    reasons: dict[Key, Reason] = {}
    for row in data["differences"]:
        where = f"openapi/{FILE}: {row.get('path')}/{row.get('attribute')}"
        check_keys(row, _ROW, where)
        unknown = sorted(set(row["dialects"]) - set(names().values()))
        if unknown:
            raise ContractError(f"{where}: unknown dialects: {', '.join(unknown)}")
        if dialect in row["dialects"]:
            key = (row["part"], row["path"], row["attribute"], row.get("page"), row.get("contract"))
            if key in reasons:
                raise ContractError(f"{where}: recorded twice for {dialect}")
            reasons[key] = _reason(row["reason"], own, dialect, where)
    for part, rows in data["unread"].get(dialect, {}).items():
        for path, row in rows.items():
            where = f"openapi/{FILE}: unread/{dialect}/{part}/{path}"
            check_keys(row, _UNREAD, where)
            several = [_reason(slug, own, dialect, where) for slug in row["reasons"]]
            reasons[part, path, UNREAD, row["mark"], None] = Reason(
                ", ".join(reason.slug for reason in several), " ".join(reason.text for reason in several)
            )
    return reasons


def _reason(slug: str, own: Mapping[str, str], dialect: str, where: str) -> Reason:
    """Return the text of an interpretation, or of a rule or schema of the contract."""
    if slug in own:
        return Reason(slug, own[slug])
    contract = load(dialect)
    if slug in interpretations():
        if contract.document.id not in interpretations()[slug].where:
            raise ContractError(f"{where}: the interpretation {slug} is not about {contract.document.id}")
        return Reason(slug, interpretations()[slug].interpretation)
    kind, _, name = slug.partition("/")
    groups: dict[str, Mapping[str, Any]] = {"rules": contract.rules, "schemas": contract.schemas}
    if kind not in groups or name not in groups[kind]:
        raise ContractError(f"{where}: unknown slug {slug!r}: expected an interpretation, rules/NAME or schemas/NAME")
    if kind == "rules":
        return Reason(slug, contract.rules[name].summary)
    return Reason(slug, str(contract.schemas[name].get("description", name)))
