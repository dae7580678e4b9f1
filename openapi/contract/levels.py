"""Derive the requirement level of every fact of a resolved tree from its stated level, its source and its ground.

A level that claims more than its authority allows, or less than the page's own word, is refused with its place. A row
of a shared shape cites `#response/...`, which is another document in some dialects; there its MUST becomes a SHOULD.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from openapi.contract.authority import OPEN, Authority, Ground, Keyword, authority_of, derive, ground_of
from openapi.contract.resolution import ContractError

if TYPE_CHECKING:
    from collections.abc import Mapping

Row = dict[str, Any]
OPEN_GROUNDS: Final = ", ".join(sorted(OPEN))


def derive_levels(tree: Row) -> Row:
    """Replace the stated levels of a tree with absolute sources by the ones that count, and add the authorities.

    Raises ContractError with the place of a level that its source does not justify.
    """
    levels = _Levels(tree["document"], tree["documents"])
    for name, row in tree["parameters"].items():
        levels.derive_parameter(row, f"parameters/{name}")
    for name, row in tree["rules"].items():
        levels.derive_row(row, "level", f"rules/{name}")
        levels.derive_row(row, "kept_level", f"rules/{name}")
    for name, row in tree["requirements"].items():
        levels.derive_row(row, "keyword", f"requirements/{name}")
    return tree


class _Levels:
    def __init__(self, document: str, parts: Mapping[str, str]) -> None:
        self._document = document
        self._parts = parts

    def derive_parameter(self, row: Row, where: str) -> None:
        source: str = row["source"]
        ground = _ground(row, None)
        row["authority"] = authority_of(source, self._document, ground)
        origins = {key: self._absolute(cited) for key, cited in row.get("origins", {}).items()}
        row["origins"] = {key: authority_of(cited, self._document) for key, cited in origins.items()}
        for key, level in row.get("levels", {}).items():
            at = f"{where}/levels/{key}"
            row["levels"][key] = self._derive(level, origins.get(key, source), ground, at)
        for probe in row.get("probes", ()):
            name = probe.get("name", probe["value"])
            probe.setdefault("source", source)
            self.derive_row(probe, "level", f"{where}/probes/{name}", ground)
        row["null_value"].setdefault("source", source)
        self.derive_row(row["null_value"], "level", f"{where}/null_value", ground)

    def derive_row(self, row: Row, key: str, where: str, inherited: Ground | None = None) -> None:
        ground = _ground(row, inherited)
        stated = row.get(key)
        row["authority"] = authority_of(row["source"], self._document, ground)
        row[key] = self._derive(stated, row["source"], ground, f"{where}/{key}")

    def _derive(self, stated: str | None, source: str, ground: Ground | None, where: str) -> str:
        authority = authority_of(source, self._document, ground)
        derived = derive(Keyword(stated or "MUST"), authority, ground)
        if stated == "MAY" and derived is not Keyword.MAY:
            raise ContractError(
                f"{where}: MAY is weaker than the page's own word ({source}): "
                f"write SHOULD, or state the ground (one of {OPEN_GROUNDS})"
            )
        if stated == "MUST" and derived is not Keyword.MUST and not self._is_relative(source):
            raise ContractError(
                f"{where}: MUST is stronger than its source allows ({source}, {_words(authority)}): "
                f"write SHOULD, or cite the place in {self._document} that says it"
            )
        return str(derived)

    def _absolute(self, source: str) -> str:
        part = source[1:].partition("/")[0]
        return f"{self._parts.get(part, self._document)}{source}" if source.startswith("#") else source

    def _is_relative(self, source: str) -> bool:
        """Return whether a source is what a relative anchor, such as `#response/id`, means in this dialect."""
        return source == self._absolute(f"#{source.partition('#')[2]}")


def _ground(row: Row, inherited: Ground | None) -> Ground | None:
    if "ground" in row:
        return Ground(row["ground"])
    return ground_of(row["interpretation"]) if "interpretation" in row else inherited


def _words(authority: Authority) -> str:
    return {Authority.SIBLING: "another page", Authority.OPENAI: "OpenAI's page"}.get(authority, "source code")
