"""Faults in which the text of some messages is rewritten: folded, escaped or freed of its spaces."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reference_server.faults.generated.request_kinds import KINDS
from reference_server.faults.generated.rewrite_faults import REWRITES, rewrite_fault

if TYPE_CHECKING:
    from reference_server.faults.fault import Fault


def _rewritten(name: str, rewrite: str, kind: str, line: str) -> Fault:
    return rewrite_fault(name, line, REWRITES[rewrite], KINDS[kind])


instructions_escaped = _rewritten(
    "instructions-escaped-beside-tools",
    "instructions-escaped",
    "next-to-tools",
    "Next to tools, instructions are escaped as HTML in the prompt.",
)
earlier_answers_lowered = _rewritten(
    "earlier-answers-in-lower-case",
    "answer-lowered",
    "after-an-answer",
    "Earlier answers are in lower case in the prompt.",
)
spaces_in_parts_lost = _rewritten(
    "spaces-in-parts-lost",
    "question-squeezed",
    "in-parts",
    "A question in parts has one space in place of each white space in the prompt.",
)
results_composed = _rewritten(
    "results-in-normal-form",
    "result-composed",
    "after-a-result",
    "The results of tools are in the normal form NFKC in the prompt.",
)
