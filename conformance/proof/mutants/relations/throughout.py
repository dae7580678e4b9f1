"""Mutants of answers that change with and after other requests."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from conformance.proof.editing.answers import TALE, add_tokens, edit_text, with_text
from conformance.proof.editing.streams import edit_choices
from conformance.proof.mutants.mutant import mutant

if TYPE_CHECKING:
    from conformance.exchange import Exchange


@mutant("relations.same-throughout", steps="plain.[345]")
def answers_change_in_the_end(exchange: Exchange) -> Exchange:
    """In the second half of a run answers are other ones."""
    return edit_text(exchange, lambda text: f"{exchange.step}: {text}")


@mutant("relations.counted-the-same-throughout", steps="plain.4")
def counts_change_in_the_end(exchange: Exchange) -> Exchange:
    """At the end of a run the tokens of an earlier request are counted too."""
    return add_tokens(exchange, prompt=2)


@mutant("relations.paired-streamed-as-plain", scenario="paired-[!t]*", steps="paired")
def forms_differ_with_several_parameters(exchange: Exchange) -> Exchange:
    """With several parameters a plain answer lacks its beginning."""
    return with_text(exchange, TALE)


@mutant("relations.paired-ends-as-plain", steps="paired-streamed")
def stream_counts_more_with_several_parameters(exchange: Exchange) -> Exchange:
    """With several parameters a stream counts more completion tokens, and each choice ends with another reason."""

    def change(choice: dict[str, Any]) -> None:
        if choice.get("finish_reason"):
            choice["finish_reason"] = "stop" if choice["finish_reason"] == "length" else "length"

    return edit_choices(exchange, change)


@mutant("relations.same-after-others", steps="drawn-after-tools")
def tools_are_kept(exchange: Exchange) -> Exchange:
    """The tools of one request are offered in the next one too."""
    return edit_text(exchange, lambda text: f"I have a tool. {text}")
