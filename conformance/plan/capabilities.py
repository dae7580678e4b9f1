"""Which capabilities of the dialect a server has, which it lacks, and where that is known from."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final, Literal

from conformance.errors import UsageError
from openapi.contract.capability import disable_parameter, narrow_rule
from openapi.description.description import REQUEST

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    from openapi.contract.contract import Capability, Contract

CapabilityStatus = Literal["declared", "denied", "unknown"]

DIALECT: Final = "the dialect"
DESCRIPTION: Final = "the server's /openapi.json"
KEY: Final = "the key, given or not"
PROBE: Final = "a probe"
COMMAND_LINE: Final = "the command line"
PLACES: Final = {"media_urls": "--media-host", "media_paths": "--media-path"}
"""The options that say where the server finds media, by the capabilities that are judged only with them."""
"""The origins of the capabilities that concern where media are."""


@dataclass(frozen=True, slots=True)
class DeclaredCapabilities:
    """The capabilities of a server: `declared` ones are judged, `denied` ones must be refused, the others are unknown.

    `source` is where this is known from, and `sources` the source of the capabilities for which it differs.
    `neutral_only` are parameters without a capability of which the server accepts neutral values only, according to its
    description: a gateway has such parameters if the engine behind it does not support them.
    `denials` are the refusals of the probes by which the server denies what its document has without a condition.
    """

    declared: frozenset[str]
    denied: frozenset[str]
    source: str
    sources: Mapping[str, str] = field(default_factory=dict)
    neutral_only: frozenset[str] = frozenset()
    denials: Mapping[str, str] = field(default_factory=dict)

    def source_of(self, name: str) -> str:
        """Return where the status of a capability is known from."""
        return self.sources.get(name, self.source)

    def status_of(self, name: str) -> CapabilityStatus:
        """Return whether the server has a capability."""
        return "declared" if name in self.declared else "denied" if name in self.denied else "unknown"

    def list_unknown(self, contract: Contract) -> tuple[str, ...]:
        """Return the capabilities whose status is unknown, in the order of the contract."""
        return tuple(name for name in contract.capabilities if self.status_of(name) == "unknown")

    def with_probe_results(
        self, contract: Contract, results: Mapping[str, bool], refusals: Mapping[str, str]
    ) -> DeclaredCapabilities:
        """Add what probes showed: True for a capability that the server has, False for one that it refused.

        refusals: how it refused those. A refusal is a denial unless the document allows it under a condition.
        """
        denials = {name: refusal for name, refusal in refusals.items() if not contract.capabilities[name].conditions}
        return replace(
            self,
            declared=self.declared | {name for name, has in results.items() if has},
            denied=self.denied | {name for name, has in results.items() if not has},
            sources={**self.sources, **dict.fromkeys(results, PROBE)},
            denials={**self.denials, **denials},
        )

    def with_refusals(self, contract: Contract, names: Iterable[str]) -> DeclaredCapabilities:
        """Deny the capabilities that the server refuses by name, as far as the document allows it under a condition."""
        refused = [name for name in names if name in contract.capabilities and contract.capabilities[name].conditions]
        sources = {name: describe_refusal(contract.capabilities[name]) for name in refused}
        declared, denied = self.declared - set(refused), self.denied | set(refused)
        return replace(self, declared=declared, denied=denied, sources={**self.sources, **sources})

    def list_conditional(self, contract: Contract) -> tuple[str, ...]:
        """Return the capabilities that the dialect assumes and the document takes away under a condition."""
        return tuple(
            name
            for name, capability in contract.capabilities.items()
            if capability.conditions and name in self.declared and self.source_of(name) == DIALECT
        )

    def with_key(self, contract: Contract, *, key: bool) -> DeclaredCapabilities:
        """Set `auth` if its status is unknown: declared if the user gave an API key, denied otherwise."""
        if "auth" not in self.list_unknown(contract):
            return self
        declared, denied = (self.declared | {"auth"}, self.denied) if key else (self.declared, self.denied | {"auth"})
        return replace(self, declared=declared, denied=denied, sources={**self.sources, "auth": KEY})

    def with_media_places(self, contract: Contract, given: Mapping[str, bool]) -> DeclaredCapabilities:
        """Leave media at places that were not given unjudged; declare the others if the server takes media.

        Whoever gives a place wants media to be judged, so that they are declared if nothing else is known about them.

        Raises UsageError if the user declares one whose place was not given, because its requests cannot be made.
        """
        known = self
        place = next((PLACES[name] for name in given if given[name] and name in contract.capabilities), None)
        if place is not None and known.status_of("media") == "unknown" and "media" in contract.capabilities:
            known = replace(known, declared=known.declared | {"media"}, sources={**known.sources, "media": place})
        for name, is_given in given.items():
            if name not in contract.capabilities or (is_given and known.status_of(name) != "unknown"):
                continue
            if not is_given and name in known.declared and known.source_of(name) == COMMAND_LINE:
                raise UsageError(f"--capability +{name} requires {PLACES[name]}, where the server finds the files")
            has = is_given and "media" in known.declared
            declared = known.declared | {name} if has else known.declared - {name}
            sources = {**known.sources, name: f"{PLACES[name]}, given or not"}
            known = replace(known, declared=declared, denied=known.denied - {name}, sources=sources)
        return known

    def with_overrides(self, contract: Contract, overrides: tuple[tuple[str, bool], ...]) -> DeclaredCapabilities:
        """Apply the user's (name, has it) pairs. Raises UsageError for a capability that the dialect does not have."""
        declared, denied, sources = set(self.declared), set(self.denied), dict(self.sources)
        for name, has in overrides:
            if name not in contract.capabilities:
                known = ", ".join(sorted(contract.capabilities)) or "none"
                raise UsageError(f"{contract.name} has no capability {name!r}: expected one of {known}")
            (declared if has else denied).add(name)
            (denied if has else declared).discard(name)
            sources[name] = COMMAND_LINE
        denials = {name: denial for name, denial in self.denials.items() if sources.get(name) == PROBE}
        return replace(self, declared=frozenset(declared), denied=frozenset(denied), sources=sources, denials=denials)


def describe_refusal(capability: Capability) -> str:
    """Describe why a server may refuse a capability, as the source of its status."""
    return f"its refusal, which the document allows for {' or '.join(capability.conditions)}"


def default_capabilities(contract: Contract) -> DeclaredCapabilities:
    """Return the capabilities that the dialect assumes for a server that does not declare any."""
    declared = frozenset(name for name, capability in contract.capabilities.items() if capability.assumed)
    return DeclaredCapabilities(declared, frozenset(), DIALECT)


def capabilities_from_description(contract: Contract, description: object) -> DeclaredCapabilities | None:
    """Return the capabilities in the server's own description (`info.x-capabilities`), if it has them."""
    info = description.get("info") if isinstance(description, dict) else None
    names = info.get("x-capabilities") if isinstance(info, dict) else None
    if not isinstance(names, list):
        return None
    declared = frozenset(name for name in contract.capabilities if name in names)
    denied = frozenset(contract.capabilities) - declared
    neutral_only = _neutral_only(contract, description, declared)
    return DeclaredCapabilities(declared, denied, DESCRIPTION, neutral_only=neutral_only)


def _neutral_only(contract: Contract, description: object, declared: frozenset[str]) -> frozenset[str]:
    """Return the parameters whose schema has their own name as `x-lacking`, unless their capability is denied."""
    value = description
    for key in ("components", "schemas", REQUEST, "properties"):
        value = value.get(key) if isinstance(value, dict) else None
    properties = value if isinstance(value, dict) else {}
    return frozenset(
        name
        for name, parameter in contract.parameters.items()
        if isinstance(schema := properties.get(name), dict)
        and schema.get("x-lacking") == name
        and not parameter.required
        and (parameter.capability is None or parameter.capability in declared)
    )


def narrow_to_declared(contract: Contract, declared: Collection[str]) -> Contract:
    """Return the contract without the capabilities that are not declared."""
    return contract.without(set(contract.capabilities) - set(declared))


def narrow_contract(contract: Contract, capabilities: DeclaredCapabilities) -> Contract:
    """Return the contract that a server with these capabilities is judged by."""
    narrowed = narrow_to_declared(contract, capabilities.declared)
    if not capabilities.neutral_only:
        return narrowed
    parameters = {
        name: disable_parameter(parameter) if name in capabilities.neutral_only else parameter
        for name, parameter in narrowed.parameters.items()
    }
    rules = {name: narrow_rule(rule, parameters) for name, rule in narrowed.rules.items()}
    return replace(narrowed, parameters=parameters, rules=rules)
