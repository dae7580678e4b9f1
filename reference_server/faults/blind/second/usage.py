"""Blind faults of usage and log-probabilities."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from reference_server.faults.blind.recipes import CountedGeneration
from reference_server.faults.decorators import choices_of, has_parameters, hooked_fault
from reference_server.faults.fault import Fault

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from reference_server.engine import Engine, Generation, SamplingParams
    from reference_server.faults.hooks import Json, ServedRequest

REPLACEMENT: Final = "\ufffd"
OFFSET: Final = 8.0
MOST_KEPT: Final = 256


def _entries(response: Json) -> Iterator[Json]:
    for choice in choices_of(response):
        scores = choice.get("logprobs")
        yield from (scores.get("content") or ()) if isinstance(scores, dict) else ()


def _tokens(response: Json) -> Iterator[Json]:
    for entry in _entries(response):
        yield entry
        yield from entry.get("top_logprobs") or ()


def _repeat_first(response: Json, request: ServedRequest) -> None:
    for entry in _entries(response):
        if entry.get("top_logprobs"):
            entry["top_logprobs"] = request.state.setdefault("first", entry["top_logprobs"])


def _misindex(response: Json, _request: ServedRequest) -> None:
    for entry in _entries(response):
        if isinstance(entry.get("logprob"), float):
            entry["logprob"] -= OFFSET


def _replace_pieces(response: Json, _request: ServedRequest) -> None:
    for token in _tokens(response):
        if REPLACEMENT in (token.get("token") or "") and isinstance(token.get("bytes"), list):
            token["bytes"] = list(REPLACEMENT.encode())


def _lose_names(response: Json, _request: ServedRequest) -> None:
    for entry in _entries(response):
        for token in (entry.get("top_logprobs") or ())[1:]:
            token["token"] = ""
            if "bytes" in token:
                token["bytes"] = None


def _encode_again(response: Json, _request: ServedRequest) -> None:
    for token in _tokens(response):
        if isinstance(token.get("bytes"), list) and any(byte > 127 for byte in token["bytes"]):
            token["bytes"] = list("".join(map(chr, token["bytes"])).encode())


def _log_probabilities(name: str, line: str, edit: Callable[[Json, ServedRequest], None]) -> Fault:
    return hooked_fault(name, line, answer=edit, chunk=edit, applies_to=has_parameters("top_logprobs"))


alternatives_of_the_first_token = _log_probabilities(
    "alternatives-of-the-first-token", "The alternatives to each token are those to the first one.", _repeat_first
)
chosen_scores_misindexed = _log_probabilities(
    "chosen-scores-misindexed",
    "The log-probability of a chosen token differs from that of the same token among the alternatives.",
    _misindex,
)
pieces_of_characters_replaced = _log_probabilities(
    "pieces-of-characters-replaced",
    "The bytes of a token that is part of a character are those of U+FFFD.",
    _replace_pieces,
)
alternatives_nameless = _log_probabilities(
    "alternatives-nameless", "All alternatives except the first have an empty token.", _lose_names
)
bytes_encoded_twice = _log_probabilities(
    "bytes-encoded-twice", "The bytes of tokens with non-ASCII characters are encoded twice.", _encode_again
)


class ToollessCount:
    """An engine that counts prompts as if they had no tools."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._counts: dict[tuple[int, ...], int] = {}

    def __getattr__(self, name: str) -> Any:
        return getattr(self._engine, name)

    def encode_chat(
        self,
        messages: list[dict[str, Any]],
        tools: list[dict[str, Any]] | None = None,
        template_kwargs: Mapping[str, Any] | None = None,
    ) -> Any:
        """Encode a conversation, and note the number of tokens that it has without tools."""
        prompt = self._engine.encode_chat(messages, tools, template_kwargs)
        if tools:
            if len(self._counts) > MOST_KEPT:
                self._counts.clear()
            self._counts[tuple(prompt)] = len(self._engine.encode_chat(messages, None, template_kwargs))
        return prompt

    def submit(self, prompt: list[int], params: SamplingParams) -> Generation:
        """Submit a prompt, and report the number of its tokens without tools."""
        generation = self._engine.submit(prompt, params)
        count = self._counts.get(tuple(prompt))
        return generation if count is None else CountedGeneration(generation, count)


def _count_toolless(engine: Engine) -> Engine:
    return ToollessCount(engine)  # delegates everything else to the engine


tools_uncounted = Fault(
    "tools-uncounted",
    "The number of prompt tokens does not include the tools.",
    has_parameters("tools"),
    lambda app, _contract: app,
    _count_toolless,
    affects="answers",
)
