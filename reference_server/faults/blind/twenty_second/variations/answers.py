"""Variations of answers: slashes, headers, timings, offsets, messages of refusals, and another model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from reference_server.faults.blind.body_recipes import editing_messages
from reference_server.faults.blind.other_models import model_after
from reference_server.faults.blind.score_recipes import scored_choices
from reference_server.faults.blind.tool_recipes import calls_of
from reference_server.faults.blind.validity import has_own_ids
from reference_server.faults.decorators import has_parameters, variation

if TYPE_CHECKING:
    from reference_server.faults.hooks import Json, ResponseHead, ServedRequest

AZURE: Final = {
    "apim-request-id": "3f6d0f0e-6a51-4c57-9b0b-6f1d0f3f9f11",
    "azureml-model-session": "d042-20260901",
    "x-ms-region": "Sweden Central",
    "x-ms-deployment-name": "chat-1",
    "x-ms-rai-invoked": "true",
}


def _escape_slashes(answer: Json, _request: ServedRequest) -> None:
    """Write the arguments as the library of PHP does."""
    for call in calls_of(answer):
        if isinstance(call.get("arguments"), str):
            call["arguments"] = call["arguments"].replace("\\/", "/").replace("/", "\\/")


def _name_region(head: ResponseHead, _request: ServedRequest) -> None:
    head.headers |= AZURE


def _add_timings(chunk: Json, request: ServedRequest) -> None:
    number = request.state["number"] = request.state.get("number", 0) + 1
    chunk["timings"] = {
        "cache_n": 0,
        "prompt_n": 10,
        "prompt_ms": 25.5,
        "prompt_per_second": 392.16,
        "predicted_n": number,
        "predicted_ms": 14.25 * number,
        "predicted_per_second": 70.18,
    }


def _add_offsets(response: Json, request: ServedRequest) -> None:
    offsets: dict[object, int] = request.state.setdefault("offsets", {})
    for choice, entries in scored_choices(response):
        for entry in entries:
            offset = offsets.get(choice.get("index"), 0)
            entry["text_offset"] = offset
            offsets[choice.get("index")] = offset + len(entry["token"])


slashes_escaped_in_arguments = variation(
    "slashes-escaped-in-arguments",
    "Slashes in the arguments of plain answers are written as escapes of JSON.",
    answer=_escape_slashes,
    applies_to=has_parameters("tools"),
)
headers_of_azure = variation(
    "headers-of-azure",
    "Headers name a request, a session of the model, a region and a deployment.",
    head=_name_region,
)
timings_in_every_chunk = variation(
    "timings-in-every-chunk",
    "Each chunk of a stream has the timings so far.",
    chunk=_add_timings,
    applies_to=has_own_ids,
)
scores_with_offsets = variation(
    "scores-with-offsets",
    "Log-probabilities contain the offset of each token in the text.",
    answer=_add_offsets,
    chunk=_add_offsets,
    applies_to=lambda contract: has_own_ids(contract) and has_parameters("logprobs")(contract),
)
refusals_in_french = variation(
    "refusals-in-french",
    "The messages of refusals begin in French.",
    refusal=editing_messages(lambda text: f"Requête invalide, veuillez vérifier les paramètres : {text}"),
)
model_after_a_market = model_after(
    "model-after-a-market",
    "The model answers after a conversation about a market.",
    "What did you buy at the market?",
    "Apples, bread and a little cheese.",
    "Was it expensive?",
    "No, it was cheap.",
)
