"""Answers that leave out what they were asked to tell, or tell something else."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from conformance.proof.editing.answers import add_tokens, edit_answer, edit_choice, edit_either, edit_message
from conformance.proof.editing.streams import edit_chunks, edit_frames
from conformance.proof.mutants.mutant import mutant

if TYPE_CHECKING:
    from conformance.exchange import Exchange
    from conformance.proof.editing.streams import Frame


def _without(exchange: Exchange, name: str) -> Exchange:
    """Without a member of the answer, or of its choices."""

    def leave_out(holder: dict[str, Any]) -> None:
        for each in (holder, *holder["choices"]):
            each.pop(name, None)

    return edit_either(exchange, leave_out)


@mutant("output.name-in-id")
def id_is_random(exchange: Exchange) -> Exchange:
    """The id of the answer is a random one."""
    return edit_either(exchange, lambda holder: holder.update(id="chatcmpl-5a17"))


@mutant("output.token-ids-told")
def tokens_of_the_answer_are_not_told(exchange: Exchange) -> Exchange:
    """The token ids of the answer are not told."""
    return _without(exchange, "token_ids")


@mutant("output.prompt-ids-told")
def tokens_of_the_prompt_are_not_told(exchange: Exchange) -> Exchange:
    """The token ids of the prompt are not told."""
    return _without(exchange, "prompt_token_ids")


@mutant("output.token-ids-streamed-as-plain", steps="told-streamed")
def chunks_tell_other_tokens(exchange: Exchange) -> Exchange:
    """The chunks tell token ids that are greater by one."""

    def change(chunk: dict[str, Any]) -> None:
        for choice in chunk["choices"]:
            if choice.get("token_ids"):
                choice["token_ids"] = [identifier + 1 for identifier in choice["token_ids"]]

    return edit_chunks(exchange, change)


@mutant("output.prompt-text-told")
def prompt_is_not_told(exchange: Exchange) -> Exchange:
    """The prompt is not told as text."""
    return _without(exchange, "prompt_text")


@mutant("output.tokens-named-by-id")
def tokens_are_told_as_texts(exchange: Exchange) -> Exchange:
    """The tokens of log-probabilities are told as texts."""

    def change(choice: dict[str, Any]) -> None:
        for entry in choice["logprobs"]["content"]:
            entry["token"] = entry["token"].removeprefix("token_id:")

    return edit_choice(exchange, change)


@mutant("output.named-tokens-listed")
def tokens_asked_for_are_not_listed(exchange: Exchange) -> Exchange:
    """The tokens that the request names are not listed."""

    def change(choice: dict[str, Any]) -> None:
        for entry in choice["logprobs"]["content"]:
            entry["top_logprobs"] = []

    return edit_choice(exchange, change)


@mutant("output.prompt-scored")
def first_token_of_the_prompt_has_no_entry(exchange: Exchange) -> Exchange:
    """The entry of the prompt's first token is left out."""
    return edit_answer(exchange, lambda answer: answer["prompt_logprobs"].pop(0))


@mutant("output.interval-kept")
def chunks_are_as_small_as_ever(exchange: Exchange) -> Exchange:
    """Every chunk holds a single character."""

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
                parts.append(frame.holding({**chunk, "choices": choices}))
        return parts

    return edit_frames(exchange, split)


@mutant("output.repetition-ends")
def repetition_goes_on(exchange: Exchange) -> Exchange:
    """An answer that repeats itself goes on to its limit."""
    return add_tokens(exchange, completion=64)


@mutant("output.thoughts-hidden", steps="hidden")
def hidden_thoughts_are_shown(exchange: Exchange) -> Exchange:
    """Thoughts come though they were to be hidden."""
    return edit_message(exchange, lambda message: message.update(reasoning="Let me see."))


@mutant("output.thoughts-within-budget", steps="*")
def budget_changes_nothing(exchange: Exchange) -> Exchange:
    """The thought is a long one, whatever its budget."""
    if exchange.is_stream:
        return exchange
    return edit_message(exchange, lambda message: message.update(reasoning="Let me see what two and three are."))
