"""Faults in the alternatives of a token."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from reference_server.faults.decorators import choice_fault, requires_check
from reference_server.faults.topics.logprobs.edits import BUTTON, each_entry

if TYPE_CHECKING:
    from collections.abc import Callable

    from reference_server.faults.hooks import Json, ServedRequest

SURE: Final = -0.05


def _alternatives(edit: Callable[[list[Json]], object]) -> Callable[[Json], None]:
    def change(entry: Json) -> None:
        if entry.get("top_logprobs"):
            edit(entry["top_logprobs"])

    return change


alternatives_too_few = each_entry(
    "alternatives-too-few",
    lambda entry: len(entry["top_logprobs"]) > 1 and entry["logprob"] > SURE and entry["top_logprobs"].pop(),
    "Almost certain tokens have one alternative fewer than requested.",
    applies_to=requires_check("logprobs.as-many-alternatives-as-asked"),
)
alternatives_always_too_few = each_entry(
    "alternatives-always-too-few",
    lambda entry: len(entry["top_logprobs"]) > 1 and entry["top_logprobs"].pop(),
    "Every token has one alternative fewer than requested.",
    applies_to=requires_check("logprobs.alternatives-as-asked-or-fewer"),
)
alternatives_too_many = each_entry(
    "alternatives-too-many",
    lambda entry: entry["top_logprobs"].append({"token": "zz", "logprob": -99.0, "bytes": [122, 122]}),
    "Every token has one alternative more than requested.",
)
alternatives_missing = each_entry(
    "alternatives-missing", lambda entry: entry.update(top_logprobs=[]), "`top_logprobs` is ignored.", bugs=[100]
)
alternatives_reversed = each_entry(
    "alternatives-reversed",
    _alternatives(lambda each: each.reverse()),
    "Alternatives are sorted by increasing probability.",
)
alternatives_alike = each_entry(
    "alternatives-alike",
    _alternatives(lambda each: each.__setitem__(slice(None), [each[0]] * len(each))),
    "All alternatives are the same token.",
)
alternatives_beyond_one = each_entry(
    "alternatives-beyond-one",
    _alternatives(lambda each: [entry.update(logprob=-0.01) for entry in each]),
    "The probabilities of the alternatives add up to more than 1.",
)
chosen_otherwise = each_entry(
    "chosen-otherwise",
    lambda entry: entry.update(logprob=entry["logprob"] - 1.5),
    "A token's log-probability differs from that among its alternatives.",
)


def _forget_names(choice: Json, _request: ServedRequest) -> None:
    for entry in (choice.get("logprobs") or {}).get("content") or ():
        for item in entry.get("top_logprobs") or ():
            item.update(token="", bytes=[])


alternatives_unnamed = choice_fault(
    "alternatives-unnamed", _forget_names, "The alternatives have neither text nor bytes.", applies_to=BUTTON
)
