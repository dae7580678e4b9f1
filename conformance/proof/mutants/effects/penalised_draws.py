"""A mutant of penalties by what is drawn: they do not make tokens less likely."""

from __future__ import annotations

from typing import TYPE_CHECKING

from conformance.proof.editing.logprobs import edit_content
from conformance.proof.mutants.mutant import mutant

if TYPE_CHECKING:
    from typing import Any

    from conformance.exchange import Exchange


@mutant("effects.penalties-drawn", steps="drawn")
def penalties_are_ignored_when_drawn(exchange: Exchange) -> Exchange:
    """Choices repeat their tokens, as without any penalty."""
    return edit_content(exchange, _say_again)


def _say_again(content: list[dict[str, Any]]) -> None:
    """Let each token be the same, and somewhat likelier than others."""
    values = {"said": -0.2, "unsaid": -1.8, "unheard": -4.0}
    said, *others = ({"token": token, "bytes": list(token.encode()), "logprob": at} for token, at in values.items())
    for entry in content:
        entry |= {**said, "top_logprobs": [said, *others]}
