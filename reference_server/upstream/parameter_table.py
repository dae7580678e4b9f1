"""The table in docs/gateway.md that shows how each kind of upstream handles each parameter.

`python -m reference_server.upstream.parameter_table` prints it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from reference_server.upstream.kind import FILES, load_kind
from reference_server.upstream.parameters import engine_parameters

if TYPE_CHECKING:
    from reference_server.upstream.parameters import ParameterHandling

KINDS: Final = (*FILES, "mindie-2.3", "mindie-1.0", "ovms-2024", "openai")
EMULATIONS: Final = {"cut": "the gateway cuts the text", "requests": "one request each", "ranked": "the gateway ranks"}
LABELS: Final = {"reasoning": "separate reasoning", "beam_search": "use_beam_search"}


def render_table() -> str:
    """Return a row for each parameter, a column for each kind of upstream, and the reasons for refusals below."""
    kinds = [load_kind(name) for name in KINDS]
    lines = [f"| | {' | '.join(kind.name for kind in kinds)} |", f"|---|{'---|' * len(kinds)}"]
    reasons: dict[str, int] = {}
    for key in engine_parameters():
        cells = [_cell(kind.handling[key], reasons) for kind in kinds]
        if key == "n":
            cells = [
                f"{cell} of a search" if kind.samples_one else cell for cell, kind in zip(cells, kinds, strict=True)
            ]
        lines.append(f"| {LABELS.get(key, key)} | {' | '.join(cells)} |")
    lines += ["", *(f"{number}. {reason}" for reason, number in reasons.items())]
    return "\n".join(lines)


def _cell(handling: ParameterHandling, reasons: dict[str, int]) -> str:
    if handling.refused is not None:
        return f"refused ({reasons.setdefault(handling.refused, len(reasons) + 1)})"
    if handling.emulated is not None:
        return f"emulated: {EMULATIONS[handling.emulated]}"
    passed = f"as `{handling.passed}`" if handling.passed and handling.form != "nothing" else "passed"
    return f"{passed}, {EMULATIONS['cut']}" if handling.cut else passed


if __name__ == "__main__":
    print(render_table())  # noqa: T201 - prints the table by design
