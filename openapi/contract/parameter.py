"""The parameters of a request, the probes that test their ranges, and the rules that combine several parameters."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

import jsonschema_rs

from openapi.contract.authority import Authority, Keyword, derive

if TYPE_CHECKING:
    from collections.abc import Mapping

    from openapi.schema.json_schema import Schema
    from openapi.schema.partial_schema import PartialSchema

Expect = Literal["accept", "reject"]
__all__ = ["ABSENT", "Authority", "Expect", "Keyword", "Parameter", "Probe", "Rule"]
ABSENT: Any = object()  # the document states no default; None is a documented default of null


@dataclass(frozen=True, slots=True)
class Probe:
    """A value of a parameter to send, and whether a server must accept it. `source`: None for the parameter's own."""

    name: str
    value: Any
    expect: Expect
    keyword: Keyword = Keyword.MUST
    interpretation: str | None = None
    capability: str | None = None
    source: str | None = None


@dataclass(frozen=True, slots=True)
class Parameter:
    """One field of the request body. `schema` describes the value; `null` says whether null is accepted.

    `origins`: the authority of a keyword of the schema, the default or `required`, if another document states it than
    `source`; `cited` is the place in that document.
    `partly`: the schema and the part of it that the document of `source` states, if other documents state the rest.
    `default_as`: a value with the same effect as leaving the parameter out, if the document states no default value.
    `needs`: the parameters that a value needs to have an effect, and `needs_for` the schema of the values that do.
    """

    name: str
    summary: str
    source: str
    schema: Schema
    null: Probe
    required: bool = False
    default: Any = ABSENT
    default_note: str | None = None
    default_as: Any = ABSENT
    levels: Mapping[str, Keyword] = field(default_factory=dict)
    probes: tuple[Probe, ...] = ()
    capability: str | None = None
    neutral: tuple[Any, ...] = ()
    needs: Mapping[str, Any] = field(default_factory=dict)
    needs_for: Schema | None = None
    interpretation: str | None = None
    lacking: bool = False  # the server lacks the capability and accepts neutral values only
    authority: Authority = Authority.PAGE
    origins: Mapping[str, Authority] = field(default_factory=dict)
    cited: Mapping[str, str] = field(default_factory=dict)
    partly: PartialSchema | None = None

    def source_of(self, keyword: str) -> str:
        """Return the source of a keyword of the schema, or of `default` or `required`."""
        return self.cited.get(keyword, self.source)

    def level(self, keyword: str) -> Keyword:
        """Return the requirement level for rejecting a value that violates this keyword of the schema."""
        return self.levels.get(keyword, self.acceptance(keyword))

    def companions(self, value: Any) -> Mapping[str, Any]:
        """Return the parameters that are sent together with a value of this parameter."""
        if self.needs_for is None or jsonschema_rs.is_valid(self.needs_for, value):
            return self.needs
        return {}

    def acceptance(self, keyword: str) -> Keyword:
        """Return the requirement level for accepting a value that this keyword of the schema allows."""
        return derive(Keyword.MUST, self.origins.get(keyword, self.authority))

    def limit_level(self, level: Keyword, value: Any, expect: Expect) -> Keyword:
        """Return at most SHOULD for a value whose answer the document of the parameter does not settle."""
        is_settled = self.partly is None or self.partly.settles(value, accepted=expect == "accept")
        return Keyword.SHOULD if level is Keyword.MUST and not is_settled else level


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule that combines several parameters.

    `schema` applies if the parameter `trigger` is present; a rule that JSON Schema cannot express has no schema.
    `broken` and `kept` are fields of a request that violates or satisfies the rule. `keyword` is the requirement level
    for rejecting `broken`, `kept_keyword` the one for accepting `kept`. A rule that is not `enforced` only says which
    requests the contract leaves open: it is not part of the description. Examples of a rule without a trigger are not
    sent: no request that must be accepted resembles them.
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
    kept_keyword: Keyword = Keyword.MUST
    enforced: bool = True
