"""`chatproof load compare A B`: compare two load tests, with confidence intervals."""

from __future__ import annotations

import json
import sys
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click
import jsonschema_rs
from rich.console import Console
from rich.table import Table

from loadtests.report.comparison import compare_results
from loadtests.report.results import SCHEMA_VERSION

if TYPE_CHECKING:
    from loadtests.report.comparison import Estimate

WIDTH: Final = 200
MAX_PROBLEM: Final = 200
"""The most characters of a schema error."""
COMPARED: Final = (
    *(("target", "dialect"), ("load", "loop"), ("load", "users"), ("load", "rate_per_s"), ("load", "shape")),
)
"""Fields that should be equal in both tests."""


@click.command(name="compare", context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("before", type=click.Path(path_type=Path))
@click.argument("after", type=click.Path(path_type=Path))
@click.option("--fail-on-worse", is_flag=True, help="Exit with 3 if a value is clearly worse.")
def compare(before: Path, after: Path, fail_on_worse: bool) -> None:
    """Compare two load tests, given as report folders or results.json files."""
    one, other = _read_results(before), _read_results(after)
    console = Console(highlight=False, width=None if sys.stdout.isatty() else WIDTH)
    for section, name in COMPARED:
        if one[section][name] != other[section][name]:
            text = f"the loads differ: {section} {name} is {one[section][name]} before, {other[section][name]} after"
            console.print(text, markup=False, soft_wrap=True)
    table = Table(box=None, pad_edge=False)
    table.add_column("", no_wrap=True)
    for title in ("before", "95 %", "after", "95 %", "ratio", ""):
        table.add_column(title, justify="right", no_wrap=True)
    changes = list(compare_results(one, other))
    for change in changes:
        ratio = "" if change.ratio is None else f"{change.ratio:.3f}"
        cells = (*_format_estimate(change.before), *_format_estimate(change.after))
        table.add_row(change.name, *cells, ratio, change.verdict)
    console.print(table)
    if fail_on_worse and any(change.verdict == "worse" for change in changes):
        raise SystemExit(3)


def _format_estimate(estimate: Estimate) -> tuple[str, str]:
    return f"{estimate.value:.4g}", f"{estimate.least:.4g} to {estimate.greatest:.4g}"


def _read_results(path: Path) -> dict[str, Any]:
    file = path / "results.json" if path.is_dir() else path
    try:
        results: Any = json.loads(file.read_bytes())
    except OSError as error:
        raise click.UsageError(f"cannot read {file}: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        reason = f"invalid JSON at line {error.lineno}" if isinstance(error, json.JSONDecodeError) else "invalid JSON"
        raise click.UsageError(
            f"{file}: not the results of a load test: {reason}; the file may be incomplete: copy or write it again"
        ) from error
    if not isinstance(results, dict) or not {"schema_version", "latencies_ms"} <= results.keys():
        raise click.UsageError(f"{file}: not the results of a load test: expected results.json of a report folder")
    if (version := results["schema_version"]) != SCHEMA_VERSION:
        raise click.UsageError(
            f"{file}: it has schema version {version}, and this chatproof reads {SCHEMA_VERSION}: update chatproof"
        )
    schema = json.loads(files("loadtests").joinpath("results.schema.json").read_text(encoding="utf-8"))
    for problem in jsonschema_rs.validator_for(schema).iter_errors(results):
        where = "/".join(["", *map(str, problem.instance_path)]) or "/"
        raise click.UsageError(f"{file}: invalid results at {where}: {problem.message[:MAX_PROBLEM]}")
    return results
