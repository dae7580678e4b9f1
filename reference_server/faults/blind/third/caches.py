"""Blind faults of caches: keys that lack a part of the request, and hits that differ from misses."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import orjson

from reference_server.faults.blind.answer_cache import answer_cache, key_of
from reference_server.faults.blind.recipes import is_greedy, is_whole, per_server
from reference_server.faults.decorators import has_parameters
from reference_server.faults.hooks import CannedResponse, Hooks

if TYPE_CHECKING:
    from reference_server.faults.hooks import Json, ServedRequest


def _is_repeatable(sent: Json) -> bool:
    return is_greedy(sent) or is_whole(sent.get("seed"), 0, 2**63)


def _keep_ids() -> Hooks:
    answers: dict[bytes, bytes] = {}

    def look_up(request: ServedRequest) -> CannedResponse | None:
        if request.payload.get("stream") or not is_greedy(request.payload):
            return None
        request.state["key"] = key = key_of(request.payload)
        return CannedResponse(200, answers[key]) if key in answers else None

    def store(answer: Json, request: ServedRequest) -> None:
        if "key" in request.state:
            answers[request.state["key"]] = orjson.dumps(answer)

    return Hooks(request=look_up, answer=store)


def _keep_schema() -> Hooks:
    kept: list[Any] = []

    def change(request: ServedRequest) -> None:
        form = request.payload.get("response_format")
        schema = form.get("json_schema") if isinstance(form, dict) else None
        if isinstance(schema, dict) and isinstance(schema.get("schema"), dict):
            if not kept:
                kept.append(schema["schema"])
            schema["schema"] = kept[0]

    return Hooks(request=change)


hits_keep_ids = per_server(
    "hits-keep-ids",
    "A greedy request that is repeated gets the first answer with its id and its time.",
    _keep_ids,
    applies_to=lambda contract: contract.answer.id_prefix is not None,
)
cached_whatever_the_stop = answer_cache(
    "cached-whatever-the-stop",
    "Greedy answers are cached, and the key of the cache lacks the stop strings and stop tokens.",
    lambda sent: key_of(sent, "stop", "stop_token_ids", "include_stop_str_in_output"),
    is_greedy,
)
cached_whatever_the_scores = answer_cache(
    "cached-whatever-the-scores",
    "Greedy answers are cached, and the key of the cache lacks the number of log-probabilities.",
    lambda sent: key_of(sent, "logprobs", "top_logprobs"),
    is_greedy,
    applies_to=has_parameters("top_logprobs"),
)
cached_whatever_the_number = answer_cache(
    "cached-whatever-the-number",
    "Greedy and seeded answers are cached, and the key of the cache lacks the number of choices.",
    lambda sent: key_of(sent, "n", "best_of"),
    _is_repeatable,
    applies_to=has_parameters("n"),
)
cached_whatever_the_penalties = answer_cache(
    "cached-whatever-the-penalties",
    "Greedy answers are cached, and the key of the cache lacks the penalties and the bias.",
    lambda sent: key_of(sent, "presence_penalty", "frequency_penalty", "repetition_penalty", "logit_bias"),
    is_greedy,
)
first_schema_for_all = per_server(
    "first-schema-for-all",
    "The first JSON schema that a server gets in response_format is also used for all later ones.",
    _keep_schema,
    applies_to=has_parameters("response_format"),
)
