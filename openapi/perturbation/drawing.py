"""Draw random variants of a dialect. The same seed gives the same variant."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING, Final

from openapi.contract.contract import load
from openapi.contract.tree.yaml_file import ContractError
from openapi.perturbation.answers import perturb_answers
from openapi.perturbation.capabilities import perturb_capabilities
from openapi.perturbation.parameters import perturb_parameters
from openapi.perturbation.perturbation import Variant

if TYPE_CHECKING:
    from openapi.contract.contract import Contract
    from openapi.perturbation.perturbation import Perturbation

MOST: Final = 5  # perturbations of one variant


def list_perturbations(contract: Contract, random: Random) -> list[Perturbation]:
    """Return one perturbation or more of every fact that can be perturbed, with random values."""
    return [
        *perturb_parameters(contract, random),
        *perturb_capabilities(contract),
        *perturb_answers(contract, random),
    ]


def draw_variant(dialect: str, seed: int) -> Variant:
    """Return a variant with one to five perturbations of different facts, which fit together."""
    random = Random(f"{dialect}:{seed}")
    contract = load(dialect)
    candidates = list_perturbations(contract, random)
    random.shuffle(candidates)
    wanted = random.randint(1, MOST)
    first = Variant(dialect, _choose_apart(candidates, contract, wanted))
    if _fits(first):  # nearly always, and building a contract takes most of the time
        return first
    variant = Variant(dialect)
    for candidate in candidates:
        if len(variant.perturbations) == wanted:
            break
        larger = Variant(dialect, (*variant.perturbations, candidate))
        if all(_are_apart(candidate, item, contract) for item in variant.perturbations) and _fits(larger):
            variant = larger
    return variant


def _choose_apart(candidates: list[Perturbation], contract: Contract, wanted: int) -> tuple[Perturbation, ...]:
    """Return the first candidates that are apart from one another."""
    chosen: list[Perturbation] = []
    for candidate in candidates:
        if len(chosen) < wanted and all(_are_apart(candidate, item, contract) for item in chosen):
            chosen.append(candidate)
    return tuple(chosen)


def _fits(variant: Variant) -> bool:
    """Return whether the perturbations fit together: a default may be out of the range that another one moved."""
    try:
        variant.build()
    except ContractError:
        return False
    return True


def _are_apart(one: Perturbation, other: Perturbation, contract: Contract) -> bool:
    """Return whether two perturbations are about different parts of the contract, so that neither hides the other."""
    return not _subjects(one, contract) & _subjects(other, contract)


def _subjects(perturbation: Perturbation, contract: Contract) -> frozenset[str]:
    """Return the first two steps of the paths of the fact and its edits; for a capability, those of its parameters."""
    paths = (perturbation.fact, *(edit.path for edit in perturbation.edits))
    subjects = {"errors" if path.startswith("errors/") else "/".join(path.split("/")[:2]) for path in paths}
    if perturbation.lacks is not None:
        parameters = contract.parameters.values()
        subjects |= {f"parameters/{item.name}" for item in parameters if item.capability == perturbation.lacks}
    return frozenset(subjects)
