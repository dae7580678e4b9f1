"""Declaration: which of the dialect's capabilities a server has, which it lacks, and who said so."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

from conformance.errors import UsageError
from openapi.contract.capability import disable_parameter, narrow_rule
from openapi.description.description import REQUEST

if TYPE_CHECKING:
    from collections.abc import Mapping

    from openapi.contract.contract import Contract

COMMAND_LINE: Final = "the command line"
KEY: Final = "the key, given or not"
PROBE: Final = "a probe"


@dataclass(frozen=True, slots=True)
class DeclaredCapabilities:
    """`declared` is judged; `denied` is known to be lacking and must be refused; of the rest nobody knows.

    `whence` is who said so in general, `settled` who said so of single capabilities against or beyond that.
    `refused` are parameters of no capability that the server says it takes neutral values of only, as a gateway does
    where the engine behind it has nothing of the kind.
    """

    declared: frozenset[str]
    denied: frozenset[str]
    whence: str
    settled: Mapping[str, str] = field(default_factory=dict)
    refused: frozenset[str] = frozenset()

    def origin(self, name: str) -> str:
        """Who said that the server has or lacks the capability."""
        return self.settled.get(name, self.whence)

    def word(self, name: str) -> str:
        """`declared`, `denied` or `unknown`."""
        return "declared" if name in self.declared else "denied" if name in self.denied else "unknown"

    def open(self, contract: Contract) -> tuple[str, ...]:
        """The capabilities of which nobody knows, in the order of the contract."""
        return tuple(name for name in contract.capabilities if self.word(name) == "unknown")

    def probed(self, found: Mapping[str, bool]) -> DeclaredCapabilities:
        """With what probes showed: the server has it, or refused it."""
        return replace(
            self,
            declared=self.declared | {name for name, has in found.items() if has},
            denied=self.denied | {name for name, has in found.items() if not has},
            settled={**self.settled, **dict.fromkeys(found, PROBE)},
        )

    def keyed(self, contract: Contract, *, key: bool) -> DeclaredCapabilities:
        """With what a key says where nobody spoke of keys: with one the server asks for it, without one it cannot."""
        if "auth" not in self.open(contract):
            return self
        declared, denied = (self.declared | {"auth"}, self.denied) if key else (self.declared, self.denied | {"auth"})
        return replace(self, declared=declared, denied=denied, settled={**self.settled, "auth": KEY})

    def overruled(self, contract: Contract, wishes: tuple[tuple[str, bool], ...]) -> DeclaredCapabilities:
        """With the user's (name, has it) pairs on top. Raises UsageError for a name that the dialect has not."""
        found = self
        for name, wanted in wishes:
            if name not in contract.capabilities:
                known = ", ".join(sorted(contract.capabilities)) or "none"
                raise UsageError(f"{contract.name} has no capability {name!r}; there are: {known}")
            declared = found.declared | {name} if wanted else found.declared - {name}
            denied = found.denied - {name} if wanted else found.denied | {name}
            settled = {**found.settled, name: COMMAND_LINE}
            found = replace(found, declared=declared, denied=denied, settled=settled)
        return found


def assumed(contract: Contract) -> DeclaredCapabilities:
    """What the dialect lets one assume of a server that says nothing of itself."""
    declared = frozenset(name for name, each in contract.capabilities.items() if each.assumed)
    return DeclaredCapabilities(declared, frozenset(), "the dialect")


def told(contract: Contract, description: object) -> DeclaredCapabilities | None:
    """What a server's own description says (`info.x-capabilities`); None when it says nothing."""
    info = description.get("info") if isinstance(description, dict) else None
    names = info.get("x-capabilities") if isinstance(info, dict) else None
    if not isinstance(names, list):
        return None
    declared = frozenset(name for name in contract.capabilities if name in names)
    denied = frozenset(contract.capabilities) - declared
    return DeclaredCapabilities(
        declared, denied, "the server's /openapi.json", refused=_refused(contract, description, declared)
    )


def _refused(contract: Contract, description: object, declared: frozenset[str]) -> frozenset[str]:
    """Parameters whose schema has their own name for `x-lacking`, where the server has their capability."""
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


def narrow_contract(declaration: DeclaredCapabilities, contract: Contract) -> Contract:
    """The contract that a server of this declaration is judged by."""
    narrowed = contract.without(set(contract.capabilities) - declaration.declared)
    if not declaration.refused:
        return narrowed
    parameters = {
        name: disable_parameter(each) if name in declaration.refused else each
        for name, each in narrowed.parameters.items()
    }
    rules = {name: narrow_rule(rule, parameters) for name, rule in narrowed.rules.items()}
    return replace(narrowed, parameters=parameters, rules=rules)
