"""Read and show the depth table: how many faults a run of each depth detected when it was last measured."""

from __future__ import annotations

import json
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Mapping, Set

DEPTH_TABLE: Final = Path(str(files("conformance.proof.depths"))) / "depths.json"
HEADING: Final = "| depth | requests, usually at most | faults detected | of them by a MUST |"


def read() -> dict[str, Any]:
    """Return the content of the file that `chatproof faults depths --write` writes."""
    content: dict[str, Any] = json.loads(DEPTH_TABLE.read_text(encoding="utf-8"))
    return content


def add_known(table: Mapping[str, Any], known: Mapping[str, Any], untested: Set[str], own: int) -> dict[str, Any]:
    """Complete the figures of some faults with the former ones of the faults that were not tested.

    Faults that were never tested do not count; nor does one that is tested for the first time and not detected.

    own: how many faults there are. One that a former test did not detect is not counted twice beyond that.
    """
    depths = {}
    for depth, result in table["depths"].items():
        before = known["depths"][depth]
        others = {name: strength for name, strength in before["strengths"].items() if name in untested}
        strengths = dict(sorted({**others, **result["strengths"]}.items()))
        depths[depth] = {"requests": {**before["requests"], **result["requests"]}, "strengths": strengths}
    tested = known["faults"] + len(_list_detected(table) - _list_detected(known))
    return {"faults": min(tested, own), "depths": depths}


def _list_detected(table: Mapping[str, Any]) -> set[str]:
    return {name for result in table["depths"].values() for name in result["strengths"]}


def render_summary(table: Mapping[str, Any]) -> list[str]:
    """Return the figures of each depth as the lines of a Markdown table."""
    lines = [HEADING, "|---|--:|--:|--:|"]
    for depth, result in table["depths"].items():
        strengths = [*result["strengths"].values()]
        share = len(strengths) / table["faults"]
        requests = max(result["requests"].values())
        detected = f"{len(strengths)} of {table['faults']} ({share:.1%})"
        lines.append(f"| {depth} | {requests:,} | {detected} | {strengths.count('M')} |")
    return lines


def replace_summary(page: str, table: Mapping[str, Any]) -> str:
    """Return the kill matrix with these figures in the place of the former ones."""
    before, _, rest = page.partition(HEADING)
    _, separator, after = rest.partition("\n\n")
    return before + "\n".join(render_summary(table)) + separator + after
