"""Mutants of vLLM's parameters that add output to an answer or control it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from conformance.proof.editing.answers import add_tokens, edit_answer, edit_choice, edit_either, edit_message
from conformance.proof.editing.logprobs import edit_each
from conformance.proof.editing.streams import edit_chunks, edit_frames
from conformance.proof.mutants.mutant import mutant

if TYPE_CHECKING:
    from conformance.exchange import Exchange
    from conformance.proof.editing.streams import Frame


def _without(exchange: Exchange, name: str) -> Exchange:
    """Remove a field of the answer, or of its choices."""

    def leave_out(holder: dict[str, Any]) -> None:
        for part in (holder, *holder["choices"]):
            part.pop(name, None)

    return edit_either(exchange, leave_out)


@mutant("output.name-in-id")
def id_is_random(exchange: Exchange) -> Exchange:
    """The id of the answer is random."""
    return edit_either(exchange, lambda holder: holder.update(id="chatcmpl-5a17"))


@mutant("output.token-ids-told")
def tokens_of_the_answer_are_not_told(exchange: Exchange) -> Exchange:
    """The answer lacks its token ids."""
    return _without(exchange, "token_ids")


@mutant("output.prompt-ids-told")
def tokens_of_the_prompt_are_not_told(exchange: Exchange) -> Exchange:
    """The answer lacks the token ids of the prompt."""
    return _without(exchange, "prompt_token_ids")


@mutant("output.token-ids-streamed-as-plain", steps="told-streamed")
def chunks_tell_other_tokens(exchange: Exchange) -> Exchange:
    """The token ids in chunks are greater by one."""

    def change(chunk: dict[str, Any]) -> None:
        for choice in chunk["choices"]:
            if choice.get("token_ids"):
                choice["token_ids"] = [identifier + 1 for identifier in choice["token_ids"]]

    return edit_chunks(exchange, change)


@mutant("output.prompt-text-told")
def prompt_is_not_told(exchange: Exchange) -> Exchange:
    """The answer lacks the prompt as text."""
    return _without(exchange, "prompt_text")


@mutant("output.tokens-named-by-id")
def tokens_are_told_as_texts(exchange: Exchange) -> Exchange:
    """Log-probabilities name tokens by their text."""

    def change(choice: dict[str, Any]) -> None:
        for entry in choice["logprobs"]["content"]:
            entry["token"] = entry["token"].removeprefix("token_id:")

    return edit_choice(exchange, change)


@mutant("output.named-tokens-listed")
def tokens_asked_for_are_not_listed(exchange: Exchange) -> Exchange:
    """The tokens that the request lists are not among the alternatives."""
    return edit_each(exchange, lambda entry: entry.update(top_logprobs=[]))


@mutant("output.prompt-scored")
def first_token_of_the_prompt_has_no_entry(exchange: Exchange) -> Exchange:
    """The entry of the prompt's first token is missing."""
    return edit_answer(exchange, lambda answer: answer["prompt_logprobs"].pop(0))


@mutant("output.interval-kept", scenario="told-on-request")
def chunks_are_as_small_as_ever(exchange: Exchange) -> Exchange:
    """Every chunk has a single character."""

    def split(found: list[Frame]) -> list[Frame]:
        parts: list[Frame] = []
        for frame in found:
            chunk = frame.chunk or {"choices": []}
            text = next((choice["delta"].get("content") for choice in chunk["choices"]), None)
            if not text:
                parts.append(frame)
                continue
            for letter in text:
                choices = [{**choice, "delta": {**choice["delta"], "content": letter}} for choice in chunk["choices"]]
                parts.append(frame.with_value({**chunk, "choices": choices}))
        return parts

    return edit_frames(exchange, split)


@mutant("output.repetition-ends")
def repetition_goes_on(exchange: Exchange) -> Exchange:
    """An answer that repeats itself continues to its limit."""
    return add_tokens(exchange, completion=64)


@mutant("output.thoughts-hidden", steps="hidden")
def hidden_thoughts_are_shown(exchange: Exchange) -> Exchange:
    """An answer has reasoning although it was to be hidden."""
    return edit_message(exchange, lambda message: message.update(reasoning="Let me see."))


@mutant("output.thoughts-within-budget", steps="*")
def budget_changes_nothing(exchange: Exchange) -> Exchange:
    """The reasoning is long, whatever its budget is."""
    if exchange.is_stream:
        return exchange
    return edit_message(exchange, lambda message: message.update(reasoning="Let me see what two and three are."))
