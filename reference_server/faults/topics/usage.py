"""Usage that does not add up."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from reference_server.faults.seams import at_seams

if TYPE_CHECKING:
    from collections.abc import Callable

    from reference_server.faults.seams import Fault, Json, Told


def counted(name: str, line: str, edit: Callable[[Json], object], **options: Any) -> Fault:
    """A fault of usage, wherever it stands."""

    def change(holder: Json, _told: Told) -> None:
        if isinstance(holder.get("usage"), dict):
            edit(holder["usage"])

    return at_seams(name, line, answer=change, chunk=change, **options)


total_off_by_one = counted(
    "total-off-by-one",
    "`total_tokens` is one more than the sum.",
    lambda usage: usage.update(total_tokens=usage["total_tokens"] + 1),
    bugs=[75],
)
