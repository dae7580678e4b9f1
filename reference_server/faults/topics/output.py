"""What an answer should tell on request and does not, and prompts that are not written as asked."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reference_server.faults.decorators import at_seams, choices_of, demands, fault, knows

if TYPE_CHECKING:
    from reference_server.faults.fault import Fault
    from reference_server.faults.hooks import Json, Told

THINKING = ("thinking",)


def _forgotten(parameter: str, check: str, *, declares: tuple[str, ...] = ()) -> Fault:
    """A parameter that is taken and does nothing, where a check asks for it."""

    def forget(told: Told) -> None:
        told.sent.pop(parameter, None)

    return at_seams(
        f"ignores-{parameter.replace('_', '-')}",
        f"`{parameter}` is taken and ignored.",
        request=forget,
        fits=demands(check),
        declares=declares,
    )


request_id_forgotten = _forgotten("request_id", "output.name-in-id")
token_ids_forgotten = _forgotten("return_token_ids", "output.token-ids-told")
prompt_text_forgotten = _forgotten("return_prompt_text", "output.prompt-text-told")
names_by_id_forgotten = _forgotten("return_tokens_as_token_ids", "output.tokens-named-by-id")
named_tokens_forgotten = _forgotten("logprob_token_ids", "output.named-tokens-listed")
prompt_logprobs_forgotten = _forgotten("prompt_logprobs", "output.prompt-scored")
interval_forgotten = _forgotten("stream_interval", "output.interval-kept")
repetition_forgotten = _forgotten("repetition_detection", "output.repetition-ends")
hiding_forgotten = _forgotten("include_reasoning", "output.thoughts-hidden", declares=THINKING)
budget_forgotten = _forgotten("thinking_token_budget", "output.thoughts-within-budget", declares=THINKING)
truncation_forgotten = _forgotten("truncate_prompt_tokens", "prompt.cut-to-length")
continuation_forgotten = _forgotten("continue_final_message", "prompt.last-message-continued")
echo_forgotten = _forgotten("echo", "prompt.last-message-echoed")


@fault("prompt-ids-lack-the-first", "answer", fits=demands("output.prompt-ids-told"))
def prompt_ids_lack_the_first(answer: Json, _told: Told) -> None:
    """Of the prompt's token ids the first is not told."""
    if answer.get("prompt_token_ids"):
        del answer["prompt_token_ids"][0]


@fault("streamed-ids-of-the-last-token", "chunk", fits=demands("output.token-ids-streamed-as-plain"))
def streamed_ids_of_the_last_token(chunk: Json, told: Told) -> None:
    """A chunk tells the token ids of the chunk before it, too."""
    for choice in choices_of(chunk):
        if choice.get("token_ids"):
            new = choice["token_ids"]
            choice["token_ids"] = [*told.memory.get("ids", []), *new]
            told.memory["ids"] = new


@fault("cuts-the-other-side", "request", fits=knows("truncation_side"))
def cuts_the_other_side(told: Told) -> None:
    """`truncation_side` names the side that is kept."""
    side = told.sent.get("truncation_side")
    if side in ("left", "right"):
        told.sent["truncation_side"] = "right" if side == "left" else "left"


@fault("invents-messages", "request", fits=demands("demands.messages"))
def invents_messages(told: Told) -> None:
    """A request without messages is answered as if the user had said hello."""
    if "messages" not in told.sent:
        told.sent["messages"] = [{"role": "user", "content": "Hello!"}]


@fault("lowers-the-least", "request", fits=demands("demands.tokens-in-order"))
def lowers_the_least(told: Told) -> None:
    """A min_tokens above max_tokens is lowered to it."""
    least, most = told.sent.get("min_tokens"), told.sent.get("max_tokens")
    if type(least) is int and type(most) is int and least > most:
        told.sent["min_tokens"] = most
