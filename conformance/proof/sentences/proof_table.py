"""The table of all proofs, for the terminal and for docs/proof.md. Pure."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from conformance.proof.sentences.sentence_proof import SentenceProof

STATUSES: Final = ("proven", "permitted", "undeclared", "excluded", "unproven")
INTRODUCTION: Final = """\
# Proof of every sentence

`chatproof spec prove --write docs/proof.md` writes this page.

A sentence of a document is proven if each of its counterexamples, a server that breaks the sentence, is reported by a
MUST or SHOULD of its own checks, and none of its witnesses, a server that keeps the sentence in an unusual way, is
reported by anything. Counterexamples are derived from the facts of the contract, or written in
`conformance/proof/sentences/deviations`. They change recorded exchanges; where only a live server shows the effect,
they are faults of the reference server.

- proven: judged, and shown both ways
- permitted: a MAY; a server that makes use of it is not reported
- undeclared: about a capability that the reference server does not have
- excluded: not judged. "attempted" means that requests were sent to the reference server with and without the
  behaviour, and that their responses do not show it; the attempt is recorded with the sentence
"""


def count_statuses(proofs: Sequence[SentenceProof]) -> dict[str, int]:
    """Count the sentences, and those of each status."""
    counts = Counter(proof.status for proof in proofs)
    return {"sentences": len(proofs), **{status: counts[status] for status in STATUSES}}


def count_exclusions(proofs: Sequence[SentenceProof]) -> dict[str, int]:
    """Count the excluded sentences by category, the most frequent first."""
    homes = [proof.sentence.home for proof in proofs if proof.sentence.home.excluded is not None]
    return dict(Counter(str(home.category or "a permission") for home in homes).most_common())


def summarize(name: str, proofs: Sequence[SentenceProof]) -> str:
    """Return the counts of one dialect on one line."""
    return f"{name}: {', '.join(f'{number} {status}' for status, number in count_statuses(proofs).items())}"


def render(proofs: Mapping[str, Sequence[SentenceProof]]) -> str:
    """Return the page as Markdown."""
    every = [proof for group in proofs.values() for proof in group]
    lines = [
        INTRODUCTION,
        "| dialect | " + " | ".join(("sentences", *STATUSES)) + " |",
        "|---" * (2 + len(STATUSES)) + "|",
    ]
    for name, group in {**proofs, "all": every}.items():
        lines.append(f"| {name} | " + " | ".join(map(str, count_statuses(group).values())) + " |")
    lines += ["", "Excluded sentences by category:", "", "| category | sentences |", "|---|--:|"]
    lines += [f"| {category} | {number} |" for category, number in count_exclusions(every).items()]
    for name, group in proofs.items():
        lines += ["", f"## {name}", "", "| sentence | keyword | status | counterexamples | reported by | witnesses |"]
        lines.append("|---|---|---|--:|---|--:|")
        lines += [_row(proof) for proof in group]
    return "\n".join(lines) + "\n"


def _row(proof: SentenceProof) -> str:
    sentence = proof.sentence
    reported = ", ".join(dict.fromkeys(f"`{shown.requirement}`" for shown in proof.counterexamples))
    cells = (
        f"`{sentence.id}`",
        sentence.keyword.value,
        proof.status,
        str(len(proof.counterexamples) or ""),
        reported,
        str(len(proof.witnesses) or ""),
    )
    return f"| {' | '.join(cells)} |"


def to_json(proof: SentenceProof) -> dict[str, Any]:
    """Return one proof as JSON data."""
    return {
        "id": proof.sentence.id,
        "keyword": proof.sentence.keyword.value,
        "says": proof.sentence.says,
        "source": proof.sentence.source,
        "status": proof.status,
        "counterexamples": [
            {"server": shown.summary, "reported_by": shown.requirement} for shown in proof.counterexamples
        ],
        "witnesses": [shown.summary for shown in proof.witnesses],
        "excluded": proof.sentence.home.excluded,
        "problems": list(proof.problems),
    }
