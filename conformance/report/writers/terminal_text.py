"""Text in a terminal: the styles of outcomes, lines without control characters, and labelled values."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.cells import cell_len, chop_cells
from rich.text import Text

from conformance.report.writers.evidence import neutralize

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from rich.console import Console

STYLES = {
    "PASS": "green",
    "FAIL": "bold red",
    "WARN": "yellow",
    "OBSERVED": "cyan",
    "UNTESTABLE": "magenta",
    "NOT_EXERCISED": "dim",
    "NOT_APPLICABLE": "dim",
    "WAIVED": "blue",
    "ERROR": "bold white on red",
}
VERDICTS = {"conformant": "bold green", "nonconformant": "bold red", "inconclusive": "bold yellow"}
INDENT = " " * 6  # the width of most outcomes, and a space
LABEL = 10  # the width of a label
LONGEST = 240


def labelled_lines(label: str, text: str, style: str, console: Console) -> Iterator[Text]:
    """Yield a value next to its label; in a terminal, wrapped lines of the value are below its first."""
    indent = f"{INDENT}{label:<{LABEL}}" if label else INDENT
    lines: Sequence[Text] = [Text(text, style)]
    if console.is_terminal:
        lines = [*_wrap(Text(text, style), max(LABEL, console.width - len(indent)), console)]
    for number, line in enumerate(lines):
        yield Text.assemble((indent if number == 0 else " " * len(indent), "dim"), line)


def _wrap(text: Text, width: int, console: Console) -> Iterable[Text]:
    """Return the lines of a value; one with a word that is longer than a line is broken anywhere, so lines are full."""
    if max(map(cell_len, text.plain.split()), default=0) <= width:
        return text.wrap(console, width)
    return (Text(line, text.style) for line in chop_cells(text.plain, width))


def sanitize(text: str, longest: int = LONGEST) -> str:
    """Return the text on one line, without characters that move the cursor or control the terminal."""
    return neutralize(text.replace("\n", " "), longest)
