"""The table of what becomes of each parameter, kind by kind, as docs/gateway.md has it. Pure.

    python -m reference_server.upstream.parameter_table

prints it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from reference_server.upstream.kind import FILES, kind, words

if TYPE_CHECKING:
    from reference_server.upstream.kind import Way

KINDS: Final = (*FILES, "mindie-2.3", "mindie-1.0", "ovms-2024", "openai")
MEANS: Final = {"cut": "text is cut here", "requests": "a request for each", "ranked": "ranked here"}


def table() -> str:
    """A row for each parameter that clients know, a column for each kind of upstream, and the reasons below."""
    kinds = [kind(name) for name in KINDS]
    lines = [f"| | {' | '.join(each.name for each in kinds)} |", f"|---|{'---|' * len(kinds)}"]
    reasons: dict[str, int] = {}
    for key in words():
        name = "thoughts apart" if key == "reasoning" else "use_beam_search" if key == "beam_search" else key
        cells = [_cell(each.ways[key], reasons) for each in kinds]
        lines.append(f"| {name} | {' | '.join(cells)} |")
    lines += ["", *(f"{number}. {reason}" for reason, number in reasons.items())]
    return "\n".join(lines)


def _cell(way: Way, reasons: dict[str, int]) -> str:
    if way.refused is not None:
        return f"refused ({reasons.setdefault(way.refused, len(reasons) + 1)})"
    if way.emulated is not None:
        return f"emulated: {MEANS[way.emulated]}"
    passed = f"as `{way.passed}`" if way.passed and way.form != "nothing" else "passed"
    return f"{passed}, {MEANS['cut']}" if way.cut else passed


if __name__ == "__main__":
    print(table())  # noqa: T201 - it is what it is for
