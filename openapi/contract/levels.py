"""Derive the requirement level of every fact of a resolved tree from its stated level, its source and its ground.

A level that claims more than its authority allows, or less than the page's own word, is refused with its place. A row
of a shared shape cites `#response/...`, which is another document in some dialects; there its MUST becomes a SHOULD.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from openapi.contract.authority import OPEN, Authority, Ground, Keyword, authority_of, derive, ground_of, parse_ground
from openapi.contract.tree.inheritance import find_document
from openapi.contract.tree.yaml_file import ContractError

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

Row = dict[str, Any]
OPEN_GROUNDS: Final = ", ".join(sorted(OPEN))


def derive_levels(tree: Row) -> Row:
    """Replace the stated levels of a tree with absolute sources by the ones that count, and add the authorities.

    Raises ContractError with the place of a level that its source does not justify.
    """
    levels = _Levels(tree)
    derive = {
        "parameters": levels.derive_parameter,
        "rules": levels.derive_rule,
        "requirements": levels.derive_requirement,
    }
    for part, derive_row in derive.items():
        for name, row in tree[part].items():
            place = f"{part}/{name}"
            try:
                derive_row(row, place)
            except ContractError as error:
                message = str(error)
                raise ContractError(message if message.startswith(place) else f"{place}: {message}") from error
    return tree


class _Levels:
    def __init__(self, tree: Row) -> None:
        self._document: str = tree["document"]
        self._parts: Mapping[str, str] = tree["documents"]
        self._pinned: Collection[str] = tree.get("pins", {})
        self._interpretations: Mapping[str, Row] = tree.get("interpretations", {})
        self._inherited = frozenset(tree.get("inherited", ()))

    def derive_parameter(self, row: Row, where: str) -> None:
        source: str = row["source"]
        ground = self._ground(row, None)
        row["authority"] = self._authority_of(source, ground)
        origins = {key: self._absolute(cited) for key, cited in row.get("origins", {}).items()}
        row["cited"] = origins
        row["origins"] = {key: self._authority_of(cited) for key, cited in origins.items()}
        for key, level in row.get("levels", {}).items():
            at = f"{where}/levels/{key}"
            row["levels"][key] = self._derive(level, origins.get(key, source), ground, at)
        for probe in row.get("probes", ()):
            name = probe.get("name", probe["value"])
            probe.setdefault("source", source)
            self.derive_row(probe, "level", f"{where}/probes/{name}", ground)
        row["null_value"].setdefault("source", source)
        self.derive_row(row["null_value"], "level", f"{where}/null_value", ground)

    def derive_rule(self, row: Row, where: str) -> None:
        self.derive_row(row, "level", where)
        self.derive_row(row, "kept_level", where)

    def derive_requirement(self, row: Row, where: str) -> None:
        self.derive_row(row, "keyword", where)

    def derive_row(self, row: Row, key: str, where: str, inherited: Ground | None = None) -> None:
        ground = self._ground(row, inherited)
        stated = row.get(key)
        row["authority"] = self._authority_of(row["source"], ground)
        row[key] = self._derive(stated, row["source"], ground, f"{where}/{key}")

    def _derive(self, stated: str | None, source: str, ground: Ground | None, where: str) -> str:
        authority = self._authority_of(source, ground)
        derived = derive(Keyword(stated or "MUST"), authority, ground)
        if stated == "MAY" and derived is not Keyword.MAY:
            raise ContractError(
                f"{where}: MAY is weaker than the page's own word ({source}): "
                f"write SHOULD, or state the ground (one of {OPEN_GROUNDS})"
            )
        if stated == "MUST" and derived is not Keyword.MUST and not self._may_weaken(source):
            raise ContractError(
                f"{where}: MUST is stronger than its source allows ({source}, {_words(authority)}): "
                f"write SHOULD, or cite the place in {self._document} that says it"
            )
        return str(derived)

    def _authority_of(self, source: str, ground: Ground | None = None) -> Authority:
        return authority_of(source, self._document, ground, self._pinned)

    def _ground(self, row: Row, inherited: Ground | None) -> Ground | None:
        if "ground" in row:
            return Ground(row["ground"])
        if "interpretation" not in row:
            return inherited
        own = self._interpretations.get(row["interpretation"])
        return ground_of(row["interpretation"]) if own is None else parse_ground(own)

    def _absolute(self, source: str) -> str:
        if not source.startswith("#"):
            return source
        return f"{find_document(source, self._parts, self._document)}{source}"

    def _may_weaken(self, source: str) -> bool:
        """Return whether the level of a fact depends on the dialect: it is inherited, or its anchor is relative."""
        return source in self._inherited or source == self._absolute(f"#{source.partition('#')[2]}")


def _words(authority: Authority) -> str:
    return {Authority.SIBLING: "another page", Authority.OPENAI: "OpenAI's page"}.get(authority, "source code")
