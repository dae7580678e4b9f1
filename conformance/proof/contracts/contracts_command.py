"""`chatproof faults contracts`: show that suite and server follow the contract, with contracts drawn at random."""

from __future__ import annotations

import asyncio
import gc
import sys
import time
from functools import partial
from typing import TYPE_CHECKING, Final

import click
from rich.console import Console
from rich.markup import escape

from conformance.errors import HarnessError, UsageError
from conformance.judging_thread import judge_in_thread
from conformance.proof.contracts.variant_judge import VariantJudge, shrink
from conformance.proof.exit_codes import FAILURE, INTERNAL_ERROR, SUCCESS, USAGE
from conformance.proof.fault_host import list_dialects, start_fault_host
from conformance.proof.progress import show_progress
from conformance.run.session.target import load_contract
from openapi.contract.contract import ContractError
from openapi.perturbation.drawing import draw_variant
from openapi.perturbation.perturbation import Variant
from openapi.schema.quantity import format_quantity

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from conformance.proof.contracts.variant_judge import VariantResult
    from conformance.proof.fault_host import RunningFaultHost

CONCURRENT_VARIANTS: Final = 3
COLLECTION: Final = (200_000, 20, 100)
"""Thresholds of garbage collection: plans have some hundred thousand objects, which stay in use."""


@click.command(name="contracts", context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--count", default=60, show_default=True, type=click.IntRange(min=1), help="Number of contracts")
@click.option("--seed", default=0, show_default=True, type=click.IntRange(min=0), help="Random seed of the first one")
@click.option("--dialect", metavar="NAME", help="Only variants of this dialect")
@click.option("--keep", metavar="N,N", help="Only these perturbations of a contract, as a failure prints them")
@click.option("--thorough", is_flag=True, help="Send every scenario, not a sample of those that nothing can affect")
def command(count: int, seed: int, dialect: str | None, keep: str | None, *, thorough: bool) -> None:
    """Perturb contracts at random, and judge two servers by each: one that serves it, and one that does not.

    The server of the perturbed contract must pass a strict run. The server of the unperturbed contract must be reported
    for each perturbed fact that a request can show. A failure is reduced to the perturbations that cause it.

    Exit codes: 0 all of that holds, 1 it does not, 2 usage error, 5 internal error.
    """
    gc.set_threshold(*COLLECTION)
    console = Console(highlight=False)
    started_s = time.monotonic()
    try:
        drawn = _choose(count, seed, dialect, keep)
        with show_progress("starting the server") as show, start_fault_host() as host:
            failures = asyncio.run(_test_all(host, drawn, console, show, thorough=thorough))
    except (UsageError, ContractError) as error:
        click.echo(f"chatproof: {error}", err=True)
        sys.exit(USAGE)
    except HarnessError as error:
        click.echo(f"chatproof: internal error: {error}", err=True)
        sys.exit(INTERNAL_ERROR)
    false_positives = sum(bool(result.false_positives) for result in failures)
    missed = sum(len(result.missed) for result in failures)
    console.print(
        f"{format_quantity(len(drawn), 'contract')}, {false_positives} with false positives, "
        f"{format_quantity(missed, 'missed perturbation')}, "
        f"{time.monotonic() - started_s:.0f} s"
    )
    sys.exit(FAILURE if failures else SUCCESS)


def _choose(count: int, seed: int, dialect: str | None, keep: str | None) -> list[tuple[int, Callable[[], Variant]]]:
    """Return the seed of each variant to test, and a function that draws it: of one dialect, or of all in turn."""
    dialects = list_dialects() if dialect is None else (load_contract(dialect).location,)
    numbers = range(seed, seed + count)
    if keep is None:
        return [(number, partial(draw_variant, dialects[number % len(dialects)], number)) for number in numbers]
    if dialect is None or count != 1:
        raise UsageError("--keep selects perturbations of one contract: add --dialect and --count 1")
    variant = _keep(draw_variant(dialects[0], seed), keep)
    return [(seed, lambda: variant)]


def _keep(variant: Variant, keep: str) -> Variant:
    """Return the variant with some of its perturbations, by their places."""
    try:
        kept = tuple(variant.perturbations[int(index)] for index in keep.split(","))
    except (IndexError, ValueError) as error:
        known = ", ".join(map(str, range(len(variant.perturbations))))
        raise UsageError(f"invalid --keep {keep!r}: expected some of {known}, separated by commas") from error
    return Variant(variant.dialect, kept)


async def _test_all(
    host: RunningFaultHost,
    drawn: Sequence[tuple[int, Callable[[], Variant]]],
    console: Console,
    show: Callable[[str], None],
    *,
    thorough: bool,
) -> list[VariantResult]:
    """Draw and test the variants, a few at a time, and print each failure. Return the failures."""
    free, judge = asyncio.Semaphore(CONCURRENT_VARIANTS), VariantJudge(host, thorough=thorough)
    done = 0

    async def run(number: int, draw: Callable[[], Variant]) -> VariantResult | None:
        nonlocal done
        async with free:
            variant = await judge_in_thread(draw)
            result = await judge.judge(variant)
            if not result.holds:
                result = await shrink(result, judge.judge)
        done += 1
        if not result.holds:
            for line in _describe(number, variant, result):
                console.print(escape(line), soft_wrap=True)
        show(f"{done} of {len(drawn)} contracts; last: {variant.dialect}, seed {number}")
        return None if result.holds else result

    results = await asyncio.gather(*(run(number, draw) for number, draw in drawn))
    return [result for result in results if result is not None]


def _describe(number: int, drawn: Variant, result: VariantResult) -> list[str]:
    """Return the lines about a failure: the perturbations, what went wrong, and the command that repeats it."""
    variant = result.variant
    keep = ",".join(str(drawn.perturbations.index(item)) for item in variant.perturbations)
    return [
        f"{variant.dialect}: {'; '.join(item.line for item in variant.perturbations)}",
        *(f"  false positive: {line}" for line in result.false_positives),
        *(f"  missed: {item.line} (expected {' or '.join(item.shown_by)})" for item in result.missed),
        f"  repeat it with: chatproof faults contracts --dialect {variant.dialect} --seed {number} --count 1"
        f" --keep {keep}",
    ]
