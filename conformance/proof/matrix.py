"""The kill matrix: which check names which fault. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from conformance.proof.host import Shown


@dataclass(frozen=True, slots=True)
class Trialled:
    """One fault and what named it: check -> how binding the requirement is that broke (M, S, or o: only observed)."""

    name: str
    line: str
    dialect: str
    bugs: tuple[int, ...]
    made: bool  # by a bound of a contract, not written down
    killers: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Matrix:
    """All faults and all checks. checks: each with the strongest keyword that any dialect gives it."""

    faults: tuple[Trialled, ...]
    checks: tuple[str, ...]
    excused: Mapping[str, str]

    @property
    def survivors(self) -> tuple[str, ...]:
        """Faults that nobody names."""
        return tuple(each.name for each in self.faults if not each.killers)

    @property
    def idle(self) -> tuple[str, ...]:
        """Checks that name no fault and are not excused."""
        used = {check for each in self.faults for check in each.killers}
        return tuple(each for each in self.checks if each not in used and each not in self.excused)

    @property
    def score(self) -> float:
        """The share of faults that are named; 1 without any."""
        return 1 - len(self.survivors) / len(self.faults) if self.faults else 1.0

    def killed_by(self, check: str) -> tuple[str, ...]:
        """The faults that a check names."""
        return tuple(each.name for each in self.faults if check in each.killers)

    @property
    def holds(self) -> bool:
        """Whether every fault is named and every check names one."""
        return not self.survivors and not self.idle


def trialled(fault: Shown, dialect: str, killers: Mapping[str, str]) -> Trialled:
    """A fault with its killers."""
    return Trialled(fault.name, fault.line, dialect, fault.bugs, fault.about is not None, killers)


def as_data(matrix: Matrix) -> dict[str, Any]:
    """What is committed for machines: the faults of each check."""
    return {
        "faults": {
            each.name: {"line": each.line, "dialect": each.dialect, "bugs": list(each.bugs),
                        "killed_by": dict(sorted(each.killers.items()))}
            for each in matrix.faults
        },
    }  # fmt: skip


def faults_of(data: Mapping[str, Any], check: str) -> list[tuple[str, str]]:
    """(fault, line) for each that a check names, those first that the fewest checks name."""
    found = [
        (len(row["killed_by"]), name, row["line"]) for name, row in data["faults"].items() if check in row["killed_by"]
    ]
    return [(name, line) for _, name, line in sorted(found)]


def render(matrix: Matrix, proofs: Collection[str]) -> str:
    """The matrix as Markdown."""
    killed = len(matrix.faults) - len(matrix.survivors)
    written = [each for each in matrix.faults if not each.made]
    bounds = [each for each in matrix.faults if each.made]
    lines = [
        "# Kill matrix",
        "",
        "Written by `chatproof faults run --write docs/kill-matrix.md`; checked for drift by `tox -e faults`.",
        "",
        "Each fault is a misbehaviour that the reference server shows over a real socket (`serve --fault NAME`).",
        "Faults that are written down meet the whole plan of a dialect, the first whose contract speaks to them; those",
        "that the bounds of a contract make meet every request about their parameter. A check is named where it has a",
        "finding that the faultless server does not cause; `*` marks a SHOULD, `°` what is only observed (MAY).",
        "",
        f"- {killed} of {len(matrix.faults)} faults are named: mutation score {matrix.score:.1%}",
        f"- {len(matrix.checks) - len(matrix.idle) - len(matrix.excused)} of {len(matrix.checks)} checks name a fault",
        *(f"- {each}" for each in proofs),
        "",
    ]
    if matrix.survivors:
        lines += ["Faults that nobody names: " + ", ".join(f"`{name}`" for name in matrix.survivors), ""]
    if matrix.idle:
        lines += ["Checks that name nothing: " + ", ".join(f"`{name}`" for name in matrix.idle), ""]
    if matrix.excused:
        lines += ["Checks that cannot name anything here:", ""]
        lines += [f"- `{check}`: {reason}" for check, reason in matrix.excused.items()]
        lines += [""]
    lines += ["## Checks", "", "| check | faults | the narrowest |", "|---|---|---|"]
    width = {each.name: len(each.killers) for each in matrix.faults}
    for check in matrix.checks:
        names = sorted(matrix.killed_by(check), key=lambda name: (width[name], name))
        shown = ", ".join(f"`{name}`" for name in names[:3])
        lines.append(f"| `{check}` | {len(names)} | {shown} |")
    for title, part in (("Faults", written), ("Faults that the bounds make", bounds)):
        lines += ["", f"## {title}", "", "| fault | what the server does | dialect | named by |", "|---|---|---|---|"]
        lines += [
            f"| `{each.name}` | {_cell(each.line)} | {each.dialect} | {_killers(each)} |"
            for each in sorted(part, key=lambda each: each.name)
        ]
    return "\n".join(lines) + "\n"


def _killers(fault: Trialled) -> str:
    marks = {"M": "", "S": "*", "o": "°"}
    return ", ".join(f"`{check}`{marks[strength]}" for check, strength in sorted(fault.killers.items())) or "nobody"


def _cell(text: str) -> str:
    return text.replace("|", "\\|")
