"""Authority: where a fact comes from, and how strongly it may therefore bind a server.

The order is: the dialect's own page, what that page implies, other pages and the vendor's public source code, and the
interface that all of them follow. Data state the requirement level of the text that they cite, and the document of the
citation determines its authority. `derive` computes the level that counts from both.
"""

from __future__ import annotations

from enum import StrEnum
from functools import cache
from typing import TYPE_CHECKING, Any, Final

from openapi.contract.resolution import read
from openapi.contract.tree.yaml_file import ContractError
from openapi.did_you_mean import suggest

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping


class Keyword(StrEnum):
    """The requirement level of a demand (BCP 14). MAY: both outcomes pass and are recorded."""

    MUST = "MUST"
    SHOULD = "SHOULD"
    MAY = "MAY"


class Authority(StrEnum):
    """Where a fact comes from."""

    PAGE = "page"  # the dialect's own document
    IMPLIED = "implied"  # what the dialect's own document implies
    STANDARD = "standard"  # HTTP, JSON and event streams, on which every page is based
    SIBLING = "sibling"  # the document of another dialect
    SOURCE = "source"  # the vendor's public source code
    OPENAI = "openai"  # OpenAI's page, which all dialects follow


class Ground(StrEnum):
    """Why a level differs from what the cited text alone demands, or why a document that does not say it is cited."""

    IMPLIED = "implied"  # the page does not write it, and it follows from what the page writes
    SILENCE = "silence"  # the page says nothing about it
    PERMISSION = "permission"  # the page itself allows both outcomes, or only advises
    CONDITION = "condition"  # it depends on the deployment or the model, which no request shows
    DAMAGE = "damage"  # the text is lost or garbled
    CONTRADICTION = "contradiction"  # the page contradicts itself, and its milder statement is the MUST
    STRICTER = "stricter"  # the stricter of two statements that contradict each other
    PRACTICE = "practice"  # the page is clear, and the vendor's source or a related page differs from it
    OPPOSED = "opposed"  # only a lesser authority says it, and a higher one says the opposite


OWN: Final = frozenset({Authority.PAGE, Authority.IMPLIED})
BINDING: Final = OWN | {Authority.STANDARD}
OPEN: Final = frozenset({Ground.SILENCE, Ground.PERMISSION, Ground.CONDITION, Ground.DAMAGE})
"""The grounds on which a page's own subject may be a MAY."""
_STRENGTH: Final = (Keyword.MAY, Keyword.SHOULD, Keyword.MUST)


def derive(stated: Keyword, authority: Authority, ground: Ground | None = None) -> Keyword:
    """Return the requirement level that counts.

    A page's own word is never weaker than SHOULD, unless there is a ground for it. What only another document says is
    never stronger than SHOULD, whether it demands that something is accepted or that it is refused.
    """
    if ground is Ground.OPPOSED:
        return Keyword.MAY
    strongest = Keyword.MUST if authority in BINDING and ground is not Ground.STRICTER else Keyword.SHOULD
    weakest = Keyword.SHOULD if authority in OWN and ground not in OPEN else Keyword.MAY
    return min(max(stated, weakest, key=_STRENGTH.index), strongest, key=_STRENGTH.index)


def authority_of(source: str, document: str, ground: Ground | None = None, pinned: Collection[str] = ()) -> Authority:
    """Return the authority of a source, such as `mindie-llm-2.3#request/n`, in a dialect with this document.

    pinned: the documents that the files of the dialect pin themselves.
    """
    cited = source.partition("#")[0]
    if cited == document:
        return Authority.IMPLIED if ground is Ground.IMPLIED else Authority.PAGE
    kind = "page" if cited in pinned else _kinds().get(cited)
    if kind is None:
        raise ContractError(
            f"source {source}: unknown document {cited!r}: expected that of the dialect, or one that "
            f"openapi/documents.yaml lists{suggest(cited, _kinds())}"
        )
    return Authority.SIBLING if kind == "page" else Authority(kind)


def strongest_level(source: str, document: str) -> Keyword:
    """Return the strongest level of a demand that cites this source."""
    return derive(Keyword.MUST, authority_of(source, document))


@cache
def ground_of(interpretation: str) -> Ground | None:
    """Return the ground of an interpretation of this package; None if it changes no level."""
    return parse_ground(read("interpretations.yaml").get(interpretation, {}))


def parse_ground(row: Mapping[str, Any]) -> Ground | None:
    """Return the ground of an interpretation, as data. Raises ContractError for an unknown ground."""
    ground = row.get("ground")
    if ground is not None and ground not in list(Ground):
        raise ContractError(f"unknown ground {ground!r}: expected one of {', '.join(Ground)}")
    return None if ground is None else Ground(ground)


@cache
def _kinds() -> Mapping[str, str]:
    data = read("documents.yaml")
    return {key: row["kind"] for section in ("documents", "sources") for key, row in data[section].items()}
