"""Faults in which vLLM parameters that add output are ignored."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reference_server.faults.decorators import choices_of, fault, hooked_fault, requires_check

if TYPE_CHECKING:
    from reference_server.faults.fault import Fault
    from reference_server.faults.hooks import Json, ServedRequest

THINKING = ("thinking",)


def forgotten(parameter: str, check: str, *, declares: tuple[str, ...] = ()) -> Fault:
    """Make a fault that accepts and ignores a parameter, for dialects that require the check."""

    def forget(request: ServedRequest) -> None:
        request.payload.pop(parameter, None)

    return hooked_fault(
        f"ignores-{parameter.replace('_', '-')}",
        f"`{parameter}` is accepted and ignored.",
        request=forget,
        applies_to=requires_check(check),
        declares=declares,
    )


request_id_forgotten = forgotten("request_id", "output.name-in-id")
token_ids_forgotten = forgotten("return_token_ids", "output.token-ids-told")
prompt_text_forgotten = forgotten("return_prompt_text", "output.prompt-text-told")
names_by_id_forgotten = forgotten("return_tokens_as_token_ids", "output.tokens-named-by-id")
named_tokens_forgotten = forgotten("logprob_token_ids", "output.named-tokens-listed")
prompt_logprobs_forgotten = forgotten("prompt_logprobs", "output.prompt-scored")
interval_forgotten = forgotten("stream_interval", "output.interval-kept")
repetition_forgotten = forgotten("repetition_detection", "output.repetition-ends")
hiding_forgotten = forgotten("include_reasoning", "output.thoughts-hidden", declares=THINKING)
budget_forgotten = forgotten("thinking_token_budget", "output.thoughts-within-budget", declares=THINKING)


def _forget_zero(request: ServedRequest) -> None:
    if request.payload.get("prompt_logprobs") == 0:
        del request.payload["prompt_logprobs"]


zero_forgotten = hooked_fault(
    "prompt-logprobs-of-zero-ignored",
    "A `prompt_logprobs` of 0 counts as null.",
    request=_forget_zero,
    applies_to=requires_check("output.prompt-scored"),
)


@fault("prompt-scores-for-the-likeliest-only", "answer", applies_to=requires_check("output.prompt-scored"))
def prompt_scores_for_the_likeliest_only(answer: Json, request: ServedRequest) -> None:
    """A prompt's log-probabilities have the likeliest tokens only, not those that the prompt has."""
    number, scores = request.payload.get("prompt_logprobs"), answer.get("prompt_logprobs")
    for position in scores if isinstance(scores, list) and isinstance(number, int) and number > 0 else ():
        likeliest = sorted(position or (), key=lambda token: position[token]["rank"])[:number]
        for token in [token for token in position or () if token not in likeliest]:
            del position[token]


@fault("prompt-ids-lack-the-first", "answer", applies_to=requires_check("output.prompt-ids-told"))
def prompt_ids_lack_the_first(answer: Json, _request: ServedRequest) -> None:
    """The first token id of the prompt is missing."""
    if answer.get("prompt_token_ids"):
        del answer["prompt_token_ids"][0]


@fault("streamed-ids-of-the-last-token", "chunk", applies_to=requires_check("output.token-ids-streamed-as-plain"))
def streamed_ids_of_the_last_token(chunk: Json, request: ServedRequest) -> None:
    """A chunk also contains the token ids of the previous chunk."""
    for choice in choices_of(chunk):
        if choice.get("token_ids"):
            new = choice["token_ids"]
            choice["token_ids"] = [*request.state.get("ids", []), *new]
            request.state["ids"] = new
