"""`chatproof faults findings`: measure how clearly a report names the fault of a server."""

from __future__ import annotations

import asyncio
import json
import random
import time
from pathlib import Path

import click

from conformance.errors import UsageError
from conformance.proof.exit_codes import exit_on_errors
from conformance.proof.fault_host import list_dialects, start_fault_host
from conformance.proof.fault_trial import plan_trials
from conformance.proof.faults_command import of_origin
from conformance.proof.findings.finding_run import list_findings, summarize
from conformance.proof.progress import show_progress


@click.command(name="findings", context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--sample", type=click.IntRange(min=1), default=100, show_default=True, help="How many faults to judge")
@click.option("--seed", type=int, default=0, show_default=True, help="Which faults to draw")
@click.option("--origin", default="", metavar="NAME", help="Faults of another author instead of the project's own")
@click.option("--results", type=click.Path(path_type=Path), metavar="FILE", help="Write what each report lists as JSON")
def findings(sample: int, seed: int, origin: str, results: Path | None) -> None:
    """Judge servers with one fault each as a user does, and count the findings that each report lists.

    A finding is a cause; its consequences are not counted. The cause is listed first if the first finding is about the
    topic that the fault belongs to, or about the parameter that the fault was made from.

    Exit codes: 0 measured, 2 usage error, 5 internal error.
    """
    started_s = time.monotonic()
    with exit_on_errors(), show_progress("starting the fault host") as show, start_fault_host() as host:
        faults = [fault for fault in of_origin(host.faults, origin) if not fault.benign]
        if not faults:
            raise UsageError("no fault to judge")
        drawn = random.Random(seed).sample(faults, min(sample, len(faults)))
        trials = [trial for fault in drawn for trial in plan_trials(fault, list_dialects())]
        judged = asyncio.run(list_findings(host, trials, show))
    if results is not None:
        results.write_text(json.dumps([result.as_data() for result in judged], indent=1) + "\n", encoding="utf-8")
    if not origin:
        for result in judged:
            if not result.is_cause_first:
                listed = ", ".join(finding.requirement for finding in result.findings[:3])
                click.echo(
                    f"{result.fault} ({result.topic}) in {result.dialect}: {listed or result.error or 'nothing'}"
                )
    click.echo(f"{summarize(judged)}; {time.monotonic() - started_s:.0f} s")
