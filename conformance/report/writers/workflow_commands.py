"""Write the causes of failures as workflow commands, which GitHub shows next to a file and on the page of a run.

::error file=server.yaml,title=FAIL MUST stream.done-last::The stream ends with [DONE]. Expected ..., got ...
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from conformance.report.writers.cause_groups import describe_causes, list_problems
from conformance.report.writers.evidence import RESULTS_FILE, neutralize, show_shortest_first

if TYPE_CHECKING:
    from collections.abc import Iterator

MOST_OF_A_LEVEL: Final = 9
"""GitHub shows ten annotations of a level for each step; the last one counts those that are left out."""
LONGEST: Final = 600
LEVELS: Final = ("error", "warning")


def write(results: dict[str, Any]) -> str:
    """Return one line for each cause, errors first; a run that could not be judged is an error."""
    lines = list(_lines(show_shortest_first(results)))
    return "".join(f"{line}\n" for line in lines)


def annotated_file(results: dict[str, Any]) -> str:
    """Return the file at which findings are shown: the one that the user names, or the results."""
    return str(results["run"].get("annotate") or RESULTS_FILE)


def _lines(results: dict[str, Any]) -> Iterator[str]:
    file = annotated_file(results)
    if results["run"]["exhausted"]:
        yield _command("error", file, "the run ended early", results["run"]["exhausted"])
    if unjudged := results["run"].get("unjudged"):
        yield _command("error", file, "no verdict", unjudged)
    groups = list_problems(results)
    for level in LEVELS:
        rows = [group.row for group in groups if group.row["outcome"] != "WAIVED" and _level(group.row) == level]
        for row in rows[:MOST_OF_A_LEVEL]:
            yield _command(level, file, f"{row['outcome']} {row['keyword']} {row['id']}", _message(row))
        if len(rows) > MOST_OF_A_LEVEL:
            more = f"and {len(rows) - MOST_OF_A_LEVEL} more: {describe_causes(results)}"
            yield _command(level, file, "further causes", more)


def _level(row: dict[str, Any]) -> str:
    return "error" if row["fails"] or row["outcome"] == "ERROR" else "warning"


def _message(row: dict[str, Any]) -> str:
    if not row["findings"]:
        return f"{row['summary']} {row['note']}"
    first = row["findings"][0]
    return f"{row['summary']} Expected {first['expected']}, got {first['got']} ({first['exchange']})"


def _command(level: str, file: str, title: str, message: str) -> str:
    """Return a workflow command. Line ends and separators are escaped, so that no text begins another command."""
    text = neutralize(message, LONGEST).replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")
    return f"::{level} file={_property(file)},title={_property(title)}::{text}"


def _property(text: str) -> str:
    escaped = neutralize(text, LONGEST).replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")
    return escaped.replace(":", "%3A").replace(",", "%2C")
