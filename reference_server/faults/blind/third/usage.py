"""Blind faults of usage, log-probabilities and indices."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from reference_server.faults.blind.recipes import CountedGeneration
from reference_server.faults.decorators import always, choices_of, has_parameters, hooked_fault
from reference_server.faults.fault import Fault
from reference_server.faults.fault_middleware import parse_object
from reference_server.faults.hooks import DATA

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from openapi.contract.contract import Contract
    from reference_server.engine import Engine, Generation, SamplingParams
    from reference_server.faults.hooks import Json, ServedRequest

MOST_KEPT: Final = 256


def _entries(response: Json) -> Iterator[Json]:
    for choice in choices_of(response):
        scores = choice.get("logprobs")
        yield from (scores.get("content") or ()) if isinstance(scores, dict) else ()


def _is_usage_chunk(chunk: Json) -> bool:
    return chunk.get("choices") == [] and isinstance(chunk.get("usage"), dict)


def _twice(frame: bytes, _request: ServedRequest) -> Iterable[bytes]:
    return [frame] * (1 + _is_usage_chunk(parse_object(frame.removeprefix(DATA))))


def _drop_choices(chunk: Json, _request: ServedRequest) -> None:
    if _is_usage_chunk(chunk):
        del chunk["choices"]


def _subtract_cached(response: Json, _request: ServedRequest) -> None:
    usage = response.get("usage")
    details = usage.get("prompt_tokens_details") if isinstance(usage, dict) else None
    cached = details.get("cached_tokens") if isinstance(details, dict) else None
    if isinstance(usage, dict) and cached:
        usage["prompt_tokens"] -= cached
        usage["total_tokens"] -= cached


def _strip_alternatives(response: Json, _request: ServedRequest) -> None:
    for entry in _entries(response):
        for token in entry.get("top_logprobs") or ():
            text = token.get("token")
            if isinstance(text, str) and text.strip() and text != text.strip():
                token["token"] = text.strip()
                if isinstance(token.get("bytes"), list):
                    token["bytes"] = list(text.strip().encode())


def _show_likeliest(response: Json, _request: ServedRequest) -> None:
    for entry in _entries(response):
        for likeliest in (entry.get("top_logprobs") or ())[:1]:
            entry.update({name: likeliest[name] for name in ("token", "bytes", "logprob") if name in likeliest})


def _count_chunks(chunk: Json, request: ServedRequest) -> None:
    for choice in choices_of(chunk):
        if "index" in choice and (request.payload.get("n") or 1) == 1:
            choice["index"] = request.event_index


def _reports_cached_tokens(contract: Contract) -> bool:
    return contract.answer.cached_tokens


usage_chunk_twice = hooked_fault(
    "usage-chunk-twice",
    "The usage chunk of a stream is sent twice.",
    event=_twice,
    applies_to=has_parameters("stream_options"),
)
usage_chunk_lacks_choices = hooked_fault(
    "usage-chunk-lacks-choices",
    "The usage chunk of a stream has no choices, not even an empty list.",
    chunk=_drop_choices,
    applies_to=has_parameters("stream_options"),
)
cached_tokens_subtracted = hooked_fault(
    "cached-tokens-subtracted",
    "The number of prompt tokens does not include those that were in the cache.",
    answer=_subtract_cached,
    chunk=_subtract_cached,
    applies_to=_reports_cached_tokens,
)
alternatives_lose_blanks = hooked_fault(
    "alternatives-lose-blanks",
    "The alternatives to a token lack the white space at their ends.",
    answer=_strip_alternatives,
    chunk=_strip_alternatives,
    applies_to=has_parameters("top_logprobs"),
)
likeliest_token_shown = hooked_fault(
    "likeliest-token-shown",
    "Log-probabilities show the likeliest token in place of the chosen one.",
    answer=_show_likeliest,
    chunk=_show_likeliest,
    applies_to=has_parameters("top_logprobs"),
)
indexes_count_chunks = hooked_fault(
    "indexes-count-chunks", "The index of the choice in a stream is the number of the chunk.", chunk=_count_chunks
)


class LastTurnCount:
    """An engine that counts a conversation as if it consisted of its last message, unless it has tools."""

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
        """Encode a conversation, and note the number of tokens of its last message."""
        prompt = self._engine.encode_chat(messages, tools, template_kwargs)
        if not tools and len(messages) > 1 and messages[-1].get("role") == "user":
            if len(self._counts) > MOST_KEPT:
                self._counts.clear()
            self._counts[tuple(prompt)] = len(self._engine.encode_chat(messages[-1:], None, template_kwargs))
        return prompt

    def submit(self, prompt: list[int], params: SamplingParams) -> Generation:
        """Submit a prompt, and report the number of tokens of its last message."""
        generation = self._engine.submit(prompt, params)
        count = self._counts.get(tuple(prompt))
        return generation if count is None else CountedGeneration(generation, count)


def _count_last_turn(engine: Engine) -> Engine:
    return LastTurnCount(engine)  # delegates everything else to the engine


earlier_turns_uncounted = Fault(
    "earlier-turns-uncounted",
    "Of a conversation without tools, only the tokens of the last message are counted.",
    always,
    lambda app, _contract: app,
    _count_last_turn,
    affects="answers",
)
