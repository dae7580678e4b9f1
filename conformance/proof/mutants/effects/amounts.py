"""Mutants of penalties: other amounts are subtracted."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Final

from conformance.proof.editing.logprobs import edit_content
from conformance.proof.mutants.mutant import mutant

if TYPE_CHECKING:
    from typing import Any

    from conformance.exchange import Exchange

SAME_TOKENS: Final = 12
"""Answers with penalties and without have at least as many tokens."""


def _choose_unlikely(content: list[dict[str, Any]]) -> None:
    """Let the last token be much less likely than an alternative that did not occur before."""
    content[-1]["top_logprobs"].append({"token": "unsaid", "logprob": -0.1, "bytes": list(b"unsaid")})
    content[-1]["logprob"] = -20.0


@mutant("effects.penalties-whole", steps="penalised")
def penalties_are_doubled(exchange: Exchange) -> Exchange:
    """The penalties are larger than requested, so a token is chosen that ranks behind another one."""
    return edit_content(exchange, _choose_unlikely)


@mutant("effects.penalties-at-temperature-0", steps="*penalised")
def penalties_are_ignored_when_greedy(exchange: Exchange) -> Exchange:
    """The answer repeats a token that is hardly likelier than another one, with penalties as without."""
    left = iter(range(SAME_TOKENS))

    def repeat(content: list[dict[str, Any]]) -> None:
        del content[sum(1 for _ in islice(left, len(content))) :]
        for entry in content:
            others = [{"token": "unsaid", "logprob": -0.8, "bytes": list(b"unsaid")}]
            entry |= {"token": "said", "logprob": -0.6, "bytes": list(b"said"), "top_logprobs": others}

    return edit_content(exchange, repeat)
