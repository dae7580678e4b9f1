"""Write docs/architectures.md: `tox -e architectures -- --write docs/architectures.md`; two minutes."""

from __future__ import annotations

import argparse
import logging
import sys
import warnings
from pathlib import Path
from typing import TYPE_CHECKING

import transformers

from tests.architectures.small_models import list_kinds
from tests.architectures.support import find_support

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tests.architectures.support import Support

INTRODUCTION = """\
# Architectures

`tox -e architectures -- --write docs/architectures.md` writes this page, with transformers {version}. A small model of
every kind of causal language model, with random weights, is built from the configuration that transformers writes, and
compared with its own forward pass.

- **fast**: over the slot cache, all sequences in one pass.
- **slow**: over the model's own cache, one sequence after another.
- **refused**: in one line, before the server listens. Among them are encoders and others that do not generate text.
- **not built**: transformers builds no small model from these sizes, so nothing is known.

{counts}
"""


def main() -> int:
    """Print the table, or write it."""
    parser = argparse.ArgumentParser(prog="tox -e architectures --", description=__doc__)
    parser.add_argument("--write", type=Path, metavar="FILE", help="write the page")
    parser.add_argument("--kind", action="append", help="only this kind (repeatable)")
    arguments = parser.parse_args()
    logging.disable(logging.CRITICAL)
    warnings.simplefilter("ignore")
    rows = []
    for kind in arguments.kind or list_kinds():
        rows.append(find_support(kind))
        print(f"{rows[-1].kind:28} {rows[-1].outcome:10} {rows[-1].reason}", file=sys.stderr, flush=True)
    text = render(rows)
    if arguments.write is None:
        print(text)
    else:
        arguments.write.write_text(text, encoding="utf-8")
    return 0


def render(rows: Sequence[Support]) -> str:
    """Return the page."""
    outcomes = ("fast", "slow", "refused", "not built")
    by_outcome = {outcome: [row for row in rows if row.outcome == outcome] for outcome in outcomes}
    counts = ", ".join(f"{len(kinds)} {outcome}" for outcome, kinds in by_outcome.items())
    lines = [INTRODUCTION.format(version=transformers.__version__, counts=f"Of {len(rows)} kinds: {counts}.")]
    for outcome in ("fast", "slow"):
        names = ", ".join(f"`{row.kind}`" for row in by_outcome[outcome])
        lines += [f"## {outcome.capitalize()}\n", f"{names}\n"]
    for outcome in ("refused", "not built"):
        lines += [f"## {outcome.capitalize()}\n", "| kind | reason |", "|---|---|"]
        lines += [f"| `{row.kind}` | {row.reason.replace('|', ' ')} |" for row in by_outcome[outcome]] + [""]
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
