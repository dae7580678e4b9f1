"""What a request may hold: parameters, the values that prove their ranges, and the rules across them."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from collections.abc import Mapping

    from openapi.schema.json_schema import Schema

Expect = Literal["accept", "reject"]
ABSENT: Any = object()  # no default is documented; None would be a documented null


class Keyword(StrEnum):
    """How binding a requirement is (BCP 14). MAY: both outcomes pass and are recorded."""

    MUST = "MUST"
    SHOULD = "SHOULD"
    MAY = "MAY"


@dataclass(frozen=True, slots=True)
class Probe:
    """One value of a parameter, and whether a server must accept it. `value` is what is sent."""

    name: str
    value: Any
    expect: Expect
    keyword: Keyword = Keyword.MUST
    interpretation: str | None = None
    capability: str | None = None


@dataclass(frozen=True, slots=True)
class Parameter:
    """One member of the request body. `schema` describes the value without null."""

    name: str
    summary: str
    source: str
    schema: Schema
    null: Probe
    required: bool = False
    default: Any = ABSENT
    default_note: str | None = None
    levels: Mapping[str, Keyword] = field(default_factory=dict)
    probes: tuple[Probe, ...] = ()
    capability: str | None = None
    neutral: tuple[Any, ...] = ()
    needs: Mapping[str, Any] = field(default_factory=dict)
    interpretation: str | None = None
    lacking: bool = False  # the server lacks the capability: neutral values only

    def level(self, keyword: str) -> Keyword:
        """How sure it is that a value breaking this keyword of the schema is refused."""
        return self.levels.get(keyword, Keyword.MUST)


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule across parameters. `schema` applies when `trigger` is present; None: it cannot be said in a schema.

    `broken` and `kept` are members of a request that breaks or keeps it. `keyword` is how sure the refusal of `broken`
    is; what keeps a rule is always accepted.
    """

    id: str
    summary: str
    source: str
    keyword: Keyword
    trigger: str | None
    schema: Schema | None
    broken: Mapping[str, Any] | None
    kept: Mapping[str, Any] | None
    capability: str | None
    interpretation: str | None
