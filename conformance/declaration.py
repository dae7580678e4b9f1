"""Declaration: which of the dialect's capabilities a server has, which it lacks, and who said so."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from conformance.errors import UsageError

if TYPE_CHECKING:
    from openapi.contract import Contract


@dataclass(frozen=True, slots=True)
class Declaration:
    """`declared` is judged; `denied` is known to be lacking and must be refused; of the rest nobody knows."""

    declared: frozenset[str]
    denied: frozenset[str]
    whence: str

    def overruled(self, contract: Contract, wishes: tuple[tuple[str, bool], ...]) -> Declaration:
        """With the user's (name, has it) pairs on top. Raises UsageError for a name that the dialect has not."""
        found = self
        for name, wanted in wishes:
            if name not in contract.capabilities:
                known = ", ".join(sorted(contract.capabilities)) or "none"
                raise UsageError(f"{contract.name} has no capability {name!r}; there are: {known}")
            declared = found.declared | {name} if wanted else found.declared - {name}
            denied = found.denied - {name} if wanted else found.denied | {name}
            found = Declaration(declared, denied, f"{self.whence} and the command line")
        return found


def assumed(contract: Contract) -> Declaration:
    """What the dialect lets one assume of a server that says nothing of itself."""
    declared = frozenset(name for name, each in contract.capabilities.items() if each.assumed)
    return Declaration(declared, frozenset(), "the dialect")


def told(contract: Contract, description: object) -> Declaration | None:
    """What a server's own description says (`info.x-capabilities`); None when it says nothing."""
    info = description.get("info") if isinstance(description, dict) else None
    names = info.get("x-capabilities") if isinstance(info, dict) else None
    if not isinstance(names, list):
        return None
    declared = frozenset(name for name in contract.capabilities if name in names)
    return Declaration(declared, frozenset(contract.capabilities) - declared, "the server's /openapi.json")
