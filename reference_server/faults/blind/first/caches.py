"""Blind faults of caches that confuse requests."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from reference_server.faults.blind.answer_cache import cached_without, key_of
from reference_server.faults.blind.recipes import garble, is_greedy, is_whole, messages_of, per_server
from reference_server.faults.decorators import choices_of, has_parameters
from reference_server.faults.hooks import Hooks

if TYPE_CHECKING:
    from reference_server.faults.hooks import Json, ServedRequest


def _first_differs() -> Hooks:
    seen: set[bytes] = set()

    def change(request: ServedRequest) -> None:
        if is_greedy(request.payload) and (key := key_of({"messages": request.payload.get("messages")})) not in seen:
            seen.add(key)
            garble(request, 1.0)

    return Hooks(request=change)


def _system_late() -> Hooks:
    last: list[Any] = []

    def change(request: ServedRequest) -> None:
        messages = messages_of(request.payload)
        if messages and messages[0].get("role") == "system" and isinstance(messages[0].get("content"), str):
            previous, last[:] = last[:], [messages[0]["content"]]
            messages[0]["content"] = (previous or last)[0]

    return Hooks(request=change)


def _zero_reused() -> Hooks:
    seen: set[bytes] = set()

    def note(request: ServedRequest) -> None:
        if request.payload.get("logprobs"):
            key = key_of(request.payload)
            request.state["again"] = key in seen
            seen.add(key)

    def change(response: Json, request: ServedRequest) -> None:
        for choice in choices_of(response) if request.state.pop("again", False) else ():
            for entry in ((choice.get("logprobs") or {}).get("content") or ())[:1]:
                entry["logprob"] = 0.0

    return Hooks(request=note, answer=change, chunk=change)


def _stale_scores() -> Hooks:
    seen: set[bytes] = set()
    last: list[Any] = []

    def change(answer: Json, request: ServedRequest) -> None:
        if answer.get("prompt_logprobs") is not None:
            key = key_of({"messages": request.payload.get("messages")})
            own = answer["prompt_logprobs"]
            if key in seen and last:
                answer["prompt_logprobs"] = last[0]
            seen.add(key)
            last[:] = [own]

    return Hooks(answer=change)


def _chat_restored() -> Hooks:
    finished: list[list[Json]] = []

    def change(request: ServedRequest) -> None:
        messages = messages_of(request.payload)
        if len(messages) == 1 and messages[0].get("role") == "user" and finished:
            request.payload["messages"] = [*finished.pop(), *messages]

    def keep(_answer: Json, request: ServedRequest) -> None:
        messages = messages_of(request.payload)
        if len(messages) > 2 and messages[-1].get("role") == "user":
            finished[:] = [messages[:-1]]

    return Hooks(request=change, answer=keep)


cached_whatever_the_limit = cached_without(
    "cached-whatever-the-limit",
    "Greedy answers are cached, and the key of the cache lacks max_tokens.",
    "max_tokens",
    lambda sent: is_greedy(sent) and is_whole(sent.get("max_tokens"), 1, 2**31 - 1),
)
cached_whatever_the_choice = cached_without(
    "cached-whatever-the-choice",
    "Answers to requests with tools are cached, and the key of the cache lacks tool_choice.",
    "tool_choice",
    lambda sent: bool(sent.get("tools")) and sent.get("tool_choice") in (None, "auto", "none", "required"),
    applies_to=has_parameters("tools", "tool_choice"),
)
cached_whatever_the_seed = cached_without(
    "cached-whatever-the-seed",
    "Answers with a seed are cached, and the key of the cache lacks the seed.",
    "seed",
    lambda sent: is_whole(sent.get("seed"), 0, 2**63 - 1),
)
first_answer_differs = per_server(
    "first-answer-differs", "The first greedy answer to a prompt differs from all later ones.", _first_differs
)
instructions_one_late = per_server(
    "instructions-one-late", "A request gets the system message of the previous request that had one.", _system_late
)
reused_prompts_are_certain = per_server(
    "reused-prompts-are-certain",
    "If a request is repeated, the first token has the log-probability 0.",
    _zero_reused,
    applies_to=has_parameters("logprobs"),
)
prompt_scores_stale = per_server(
    "prompt-scores-stale",
    "If a prompt is repeated, its log-probabilities are those of the previous prompt.",
    _stale_scores,
    applies_to=has_parameters("prompt_logprobs"),
)
another_chat_restored = per_server(
    "another-chat-restored",
    "A new conversation is answered as the continuation of one that has ended.",
    _chat_restored,
)
