"""The kill matrix: which check names which fault. Pure."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from conformance.proof.fault_host import Shown

INTRODUCTION: Final = """\
# Kill matrix

Written by `chatproof faults run --write docs/kill-matrix.md`, and held against the run by `tox -e faults`.

Each fault is a misbehaviour that the reference server shows over a real socket (`chatproof serve --fault NAME`). It
meets the plan of the first dialect whose contract speaks to it: one that the bounds of a contract make, every request
about its parameter; one that is written down, all that may show it (one of answers, what must be answered; one of
refusals, what may be refused) but generated requests whose answers are long. A check is named where it has a finding
that the faultless server does not cause; `*` marks a SHOULD, `°` what is only observed (MAY). Checks that go by the
clock stand only beside faults that play with time. Who names a fault with `~` depends on chance, or on what happens at
the same time: those stand there that always did when it was written, and some check that binds as much must again.
Variations are what every document allows: they may be observed, and nobody is blamed for them.
"""


@dataclass(frozen=True, slots=True)
class Trialled:
    """One fault and what named it: check -> how binding the requirement is that broke (M, S, or o: only observed).

    made: by a bound of a contract, not written down. benign: a variation that nobody may be blamed for. shown_by:
    scenarios that are enough to show it to all of these checks. restless: what happens at the same time, or by chance,
    decides who names it; killers are those that always did.
    """

    name: str
    line: str
    dialect: str
    bugs: tuple[int, ...]
    made: bool
    killers: Mapping[str, str]
    benign: bool = False
    shown_by: tuple[str, ...] = ()
    restless: bool = False


@dataclass(frozen=True, slots=True)
class Matrix:
    """All faults and variations, and all checks.

    excused: checks that nothing here can show, and faults that no check names, each with the reason.
    """

    rows: tuple[Trialled, ...]
    checks: tuple[str, ...]
    excused: Mapping[str, str]

    @property
    def faults(self) -> tuple[Trialled, ...]:
        """What must be named."""
        return tuple(row for row in self.rows if not row.benign)

    @property
    def variations(self) -> tuple[Trialled, ...]:
        """What may be observed, and no more."""
        return tuple(row for row in self.rows if row.benign)

    @property
    def survivors(self) -> tuple[str, ...]:
        """Faults that nobody names and nothing excuses."""
        return tuple(fault.name for fault in self.faults if not fault.killers and fault.name not in self.excused)

    @property
    def idle(self) -> tuple[str, ...]:
        """Checks that name no fault and are not excused."""
        return tuple(check for check in self.checks if not self.killed_by(check) and check not in self.excused)

    @property
    def stale(self) -> tuple[str, ...]:
        """What is excused although it names something or is named."""
        named = {row.name for row in self.rows if row.killers}
        return tuple(each for each in self.excused if each in named or self.killed_by(each))

    @property
    def score(self) -> float:
        """The share of faults that are named; 1 without any."""
        return sum(bool(fault.killers) for fault in self.faults) / len(self.faults) if self.faults else 1.0

    def killed_by(self, check: str) -> tuple[str, ...]:
        """The faults that a check names, and the variations that it observes."""
        return tuple(row.name for row in self.rows if check in row.killers)

    @property
    def holds(self) -> bool:
        """Whether every fault is named and every check names one."""
        return not (self.survivors or self.idle or self.stale)


def trialled(fault: Shown, dialect: str, killers: Mapping[str, str]) -> Trialled:
    """A fault with its killers."""
    return Trialled(fault.name, fault.line, dialect, fault.bugs, fault.about is not None, killers, fault.benign)


def joined(one: Trialled, other: Trialled) -> Trialled:
    """The same in two dialects."""
    return replace(
        one,
        dialect=f"{one.dialect}, {other.dialect}",
        killers={**other.killers, **one.killers},
        shown_by=tuple(sorted({*one.shown_by, *other.shown_by})),
    )


def as_data(matrix: Matrix) -> dict[str, Any]:
    """What is committed for machines."""
    rows = {
        each.name: {"line": each.line, "dialect": each.dialect, "killed_by": dict(sorted(each.killers.items()))}
        | ({"benign": True} if each.benign else {})
        | ({"restless": True} if each.restless else {})
        | ({"shown_by": list(each.shown_by)} if each.shown_by else {})
        for each in sorted(matrix.rows, key=lambda each: each.name)
    }
    return {"faults": rows}


def read_rows(data: Mapping[str, Any]) -> tuple[Trialled, ...]:
    """What `as_data` wrote; the numbers of bugs are not kept."""
    return tuple(
        Trialled(
            name,
            row["line"],
            row["dialect"],
            (),
            ":" in name,
            row["killed_by"],
            row.get("benign", False),
            tuple(row.get("shown_by", ())),
            row.get("restless", False),
        )
        for name, row in data["faults"].items()
    )


def updated(matrix: Matrix, before: Mapping[str, Any], shown: Collection[str]) -> Matrix:
    """A matrix of some faults with the rows that it does not have from a ledger; shown: faults that there are."""
    own = {row.name for row in matrix.rows}
    kept = (row for row in read_rows(before) if row.name in shown and row.name not in own)
    return replace(matrix, rows=(*matrix.rows, *kept))


def faults_of(data: Mapping[str, Any], check: str) -> list[tuple[str, str]]:
    """(fault, line) for each that a check names, those first that the fewest checks name."""
    named = [(name, row) for name, row in data["faults"].items() if check in row["killed_by"]]
    named.sort(key=lambda pair: (pair[1].get("benign", False), len(pair[1]["killed_by"]), pair[0]))
    return [(name, row["line"]) for name, row in named]


def moves(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[str]:
    """Where two ledgers differ, a line each.

    By which scenarios a fault is shown does not count; one that is restless has to be named as strongly as
    before, by whichever check meets it: what comes after a disconnect, or at the same time, is another one each time.
    """
    old, new = before["faults"], after["faults"]
    found = [f"{name}: no longer there" for name in old if name not in new]
    for name, row in new.items():
        if name not in old:
            found.append(f"{name}: new")
        elif parts := [part for part in row if not _agrees(part, old[name], row)]:
            found.append(f"{name}: {', '.join(f'{part} {old[name].get(part)} -> {row[part]}' for part in parts)}")
    return found


def _agrees(part: str, before: Mapping[str, Any], after: Mapping[str, Any]) -> bool:
    if part == "killed_by" and before.get("restless"):
        return bool(after[part]) and _strongest(after[part]) <= _strongest(before[part])
    return part in ("shown_by", "restless") or bool(before.get(part) == after[part])


def repeats(before: Trialled, killers: Mapping[str, str]) -> bool:
    """Whether these name a fault as those of its row do: all of them, and no others unless it is restless."""
    return before.killers.items() <= killers.items() if before.restless else before.killers == killers


def _strongest(killed_by: Mapping[str, str]) -> int:
    """The place of the strongest word among those of a row."""
    return min(map("MSo".index, killed_by.values()), default=3)


def render(matrix: Matrix, proofs: Collection[str]) -> str:
    """The matrix as Markdown."""
    killed = sum(bool(fault.killers) for fault in matrix.faults)
    able = sum(bool(matrix.killed_by(check)) for check in matrix.checks)
    lines = [
        INTRODUCTION,
        f"- {killed} of {len(matrix.faults)} faults are named: mutation score {matrix.score:.1%}",
        f"- {able} of {len(matrix.checks)} checks name something",
        *(f"- {proof}" for proof in proofs),
        "",
    ]
    for title, found in (("Faults that nobody names", matrix.survivors), ("Checks that name nothing", matrix.idle)):
        if found:
            lines += [f"{title}: {', '.join(f'`{name}`' for name in found)}", ""]
    if matrix.excused:
        lines += ["Excused:", ""]
        lines += [f"- `{name}`: {reason}" for name, reason in matrix.excused.items()]
        lines += [""]
    lines += ["## Checks", "", "| check | faults | those that the fewest checks name |", "|---|---|---|"]
    data = as_data(matrix)
    for check in matrix.checks:
        names = [name for name, _line in faults_of(data, check)]
        lines.append(f"| `{check}` | {len(names)} | {', '.join(f'`{name}`' for name in names[:3])} |")
    for title, part in (
        ("Faults", [fault for fault in matrix.faults if not fault.made]),
        ("Faults that the bounds make", [fault for fault in matrix.faults if fault.made]),
        ("Variations", matrix.variations),
    ):
        lines += ["", f"## {title}", "", "| name | what the server does | dialect | named by |", "|---|---|---|---|"]
        lines += [
            f"| `{each.name}` | {_cell(each.line)} | {each.dialect} | {_killers(each)} |"
            for each in sorted(part, key=lambda each: each.name)
        ]
    return "\n".join(lines) + "\n"


def _killers(fault: Trialled) -> str:
    marks = {"M": "", "S": "*", "o": "°"}
    named = ", ".join(f"`{check}`{marks[strength]}" for check, strength in sorted(fault.killers.items()))
    return f"{named} ~" if fault.restless else named


def _cell(text: str) -> str:
    return text.replace("|", "\\|")
