"""Draw random variants of a dialect. The same seed gives the same variant."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING, Final

from openapi.contract.contract import load
from openapi.contract.resolution import ContractError
from openapi.perturbation.capabilities import perturb_capabilities
from openapi.perturbation.parameters import perturb_parameters
from openapi.perturbation.perturbation import Variant

if TYPE_CHECKING:
    from openapi.contract.contract import Contract
    from openapi.perturbation.perturbation import Perturbation

MOST: Final = 5  # perturbations of one variant


def list_perturbations(contract: Contract, random: Random) -> list[Perturbation]:
    """Return one perturbation or more of every fact that can be perturbed, with random values."""
    return [*perturb_parameters(contract, random), *perturb_capabilities(contract)]


def draw_variant(dialect: str, seed: int) -> Variant:
    """Return a variant with one to five perturbations of different facts, which fit together."""
    random = Random(f"{dialect}:{seed}")
    candidates = list_perturbations(load(dialect), random)
    random.shuffle(candidates)
    wanted = random.randint(1, MOST)
    variant = Variant(dialect)
    for candidate in candidates:
        if len(variant.perturbations) == wanted:
            break
        larger = Variant(dialect, (*variant.perturbations, candidate))
        if _fits(candidate, variant):
            try:
                larger.build()
            except ContractError:  # for example a default that another perturbation moved out of range
                continue
            variant = larger
    return variant


def _fits(candidate: Perturbation, variant: Variant) -> bool:
    """Return whether the perturbation is about another subject than those of the variant."""
    subject = _subject(candidate.fact)
    return all(_subject(item.fact) != subject for item in variant.perturbations)


def _subject(fact: str) -> str:
    """Return the first two steps of a path: perturbations of one parameter would hide each other."""
    return "/".join(fact.split("/")[:2])
