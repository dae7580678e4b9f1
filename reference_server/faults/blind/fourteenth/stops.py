"""Blind faults of stop strings: at the token limit, of several, next to images and beams, and of other vocabularies."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from reference_server.faults.blind.delta_recipes import delta_fault
from reference_server.faults.blind.recipes import dropping, is_whole, messages_of, when
from reference_server.faults.blind.validity import allows
from reference_server.faults.decorators import choices_of, has_parameters, hooked_fault, message_of
from reference_server.faults.request_edits import failed
from reference_server.faults.topics.media.decoded_edits import takes

if TYPE_CHECKING:
    from reference_server.engine import Delta, SamplingParams
    from reference_server.faults.blind.delta_recipes import DeltaEdit
    from reference_server.faults.hooks import Json, ServedRequest

FIRST_FOREIGN: Final = 100_000
GREATEST: Final = 2**31 - 1


def _keep_stop_at_limit(params: SamplingParams) -> DeltaEdit:
    """Look at the limit first. Violates stop: the text ends in front of it."""
    tokens: dict[int, int] = {}

    def edit(delta: Delta) -> Delta:
        tokens[delta.index] = tokens.get(delta.index, 0) + delta.tokens
        at_limit = params.max_tokens is not None and tokens[delta.index] >= params.max_tokens
        if at_limit and isinstance(delta.stop_reason, str) and not params.include_stop_str_in_output:
            return replace(delta, text=delta.text + delta.stop_reason, finish_reason="length", stop_reason=None)
        return delta

    return edit


def _show_first_listed(answer: Json, request: ServedRequest) -> None:
    """Append the first string. Violates include_stop_str_in_output: the string that ended the answer."""
    stops: Any = request.payload.get("stop")
    if request.payload.get("include_stop_str_in_output") is not True or not isinstance(stops, list):
        return
    for choice in choices_of(answer):
        said = message_of(choice)
        text = said.get("content") or ""
        ends = sorted((stop for stop in stops if stop and text.endswith(stop)), key=len)
        if ends and choice.get("finish_reason") == "stop":
            said["content"] = text.removesuffix(ends[-1]) + stops[0]


def _has_images(sent: Json) -> bool:
    contents = [message.get("content") for message in messages_of(sent)]
    parts = [part for content in contents if isinstance(content, list) for part in content]
    return any(isinstance(part, dict) and part.get("type") == "image_url" for part in parts)


def _searches_beams(sent: Json) -> bool:
    return sent.get("use_beam_search") is True


def _has_foreign_ids(sent: Json) -> bool:
    ids: Any = sent.get("stop_token_ids")
    return isinstance(ids, list) and any(is_whole(token_id, FIRST_FOREIGN, GREATEST) for token_id in ids)


stops_at_the_limit_stay = delta_fault(
    "stops-at-the-limit-stay",
    "A stop string that the last token of the limit completes stays in the text, and the reason is length.",
    _keep_stop_at_limit,
    has_parameters("stop"),
)
first_listed_stop_shown = hooked_fault(
    "first-listed-stop-shown",
    "With include_stop_str_in_output, a plain answer ends with the first of the stop strings, whichever ended it.",
    answer=_show_first_listed,
    applies_to=has_parameters("stop", "include_stop_str_in_output"),
)
# Violates stop, which applies to answers about images too.
stops_lost_next_to_images = when(
    "stops-lost-next-to-images",
    "Stop strings have no effect if a message has an image.",
    _has_images,
    dropping("stop"),
    applies_to=takes("image"),
)
# Violates stop, which applies to beams too.
stops_lost_in_beams = when(
    "stops-lost-in-beams",
    "Stop strings have no effect in a beam search.",
    _searches_beams,
    dropping("stop", "stop_token_ids"),
    applies_to=allows(use_beam_search=True, stop=["3"]),
)
# Violates stop_token_ids: any ids of 32 bits. Clients send those of the usual vocabularies to each model.
foreign_stop_ids_fail = when(
    "foreign-stop-ids-fail",
    "A request with a stop token id that is beyond the vocabulary gets a 500.",
    _has_foreign_ids,
    failed,
    applies_to=has_parameters("stop_token_ids"),
)
