"""Show the counterexamples that only a live server shows: faults of the reference server."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final

from conformance.proof import fault_run, kill_matrix, kill_table
from conformance.proof.scenario_selection import select_all
from conformance.proof.sentences.sentence_proof import SentenceProof, Shown

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from conformance.proof.fault_host import HostedFault, RunningFaultHost
    from conformance.proof.fault_run import Baseline
    from conformance.proof.kill import Kill
    from conformance.proof.scenario_selection import Selection
    from conformance.scenario import Scenario

CONCURRENT_FAULTS: Final = 4
FEW: Final = 3  # scenarios that showed a fault before, or are about the broken fact, are tried first
OBSERVED: Final = "o"  # the strength of a finding about a MAY


async def show_faults(
    host: RunningFaultHost,
    proofs: Mapping[str, Sequence[SentenceProof]],
    on_progress: Callable[[str], None],
) -> dict[str, list[SentenceProof]]:
    """Run the live faults of the proofs of each dialect, and return the proofs with their results."""
    faults = {fault.name: fault for fault in host.faults}
    known = {row.name: row.shown_by for row in kill_matrix.read_rows(kill_table.read())}
    free, done = asyncio.Semaphore(CONCURRENT_FAULTS), 0
    wanted = {name: _group(sentences) for name, sentences in proofs.items()}
    total = sum(map(len, wanted.values()))

    async def run_fault(baseline: Baseline, fault: HostedFault, sentences: list[SentenceProof]) -> frozenset[Kill]:
        nonlocal done
        async with free:
            shown_by = known.get(fault.name, ())
            judged = list(dict.fromkeys(name for proof in sentences for name in proof.scenarios))
            likely = [name for name in shown_by if name in judged] or judged
            kills = await fault_run.run_fault(host, baseline, fault, _select(likely[:FEW]))
            missing = [proof for proof in sentences if not _find_kill(proof, kills)]
            if missing:
                scenarios = (*shown_by, *(name for proof in missing for name in proof.scenarios))
                kills |= await fault_run.run_fault(host, baseline, fault, _select(scenarios))
        done += 1
        on_progress(f"{done} of {total} faults shown; last: {fault.name} in {baseline.contract.name}")
        return kills

    async def conclude_dialect(name: str) -> list[SentenceProof]:
        groups = {key: group for key, group in wanted[name].items() if key in faults and name in faults[key].dialects}
        kills: dict[str, frozenset[Kill]] = {}
        if groups:
            baseline = await fault_run.prepare_baseline(host, name)
            found = await asyncio.gather(*(run_fault(baseline, faults[key], group) for key, group in groups.items()))
            kills = dict(zip(groups, found, strict=True))
        return [_conclude(proof, kills, name) for proof in proofs[name]]

    concluded = await asyncio.gather(*map(conclude_dialect, proofs))
    return dict(zip(proofs, concluded, strict=True))


def _group(sentences: Sequence[SentenceProof]) -> dict[str, list[SentenceProof]]:
    """Return the sentences that need each fault."""
    groups: dict[str, list[SentenceProof]] = {}
    for proof in sentences:
        for live in proof.live:
            groups.setdefault(live.fault, []).append(proof)
    return groups


def _select(scenarios: Sequence[str]) -> Selection:
    wanted = set(scenarios)

    def select(candidates: Sequence[Scenario]) -> frozenset[str]:
        return select_all(candidates) & wanted

    return select


def _find_kill(proof: SentenceProof, kills: frozenset[Kill]) -> Kill | None:
    """Return the kill by a binding requirement of the sentence's home, the first by name."""
    own = [kill for kill in kills if kill.requirement in proof.requirements and kill.strength != OBSERVED]
    return min(own, key=lambda kill: kill.requirement, default=None)


def _conclude(proof: SentenceProof, kills: Mapping[str, frozenset[Kill]], dialect: str) -> SentenceProof:
    if not proof.live:
        return proof
    shown, problems = [], []
    for live in proof.live:
        if live.fault not in kills:
            problems.append(f"the reference server has no fault {live.fault!r} in {dialect}")
        elif (kill := _find_kill(proof, kills[live.fault])) is None:
            problems.append(f"not reported by its checks: the fault {live.fault}: {live.summary}")
        else:
            shown.append(Shown(f"{live.summary} (fault {live.fault})", kill.requirement))
    return proof.with_live(tuple(shown), tuple(problems))
