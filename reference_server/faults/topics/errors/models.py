"""Faults in which models the server knows, and in the codes of refusals."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from reference_server.faults.decorators import fault, hooked_fault, requires_check

if TYPE_CHECKING:
    from collections.abc import Callable

    from reference_server.faults.fault import Fault
    from reference_server.faults.hooks import ResponseHead, ServedRequest


def _known_if(name: str, matches: Callable[[str, str], bool], line: str, *, bugs: tuple[int, ...] = ()) -> Fault:
    """Make a fault that takes some unknown models for the served one."""

    def take(request: ServedRequest) -> None:
        model, served = request.payload.get("model"), request.contract.default_model
        if isinstance(model, str) and matches(model, served):
            request.payload["model"] = served

    return hooked_fault(name, line, request=take, bugs=bugs)


models_by_beginning = _known_if(
    "models-by-beginning",
    lambda model, served: bool(model) and served.startswith(model),
    "The beginning of a model's name is enough.",
)
models_by_end = _known_if(
    "models-by-end",
    lambda model, served: model.endswith(served),
    "A model whose name ends like the right one is answered.",
)
models_continued = _known_if(
    "models-continued",
    lambda model, served: model.startswith(served),
    "A model whose name continues the right one is answered.",
)
models_trimmed = _known_if(
    "models-with-blanks-known",
    lambda model, served: model.strip() == served,
    "White space around the name of a model is ignored.",
)
model_tags_ignored = _known_if(
    "models-with-tags-known",
    lambda model, served: model.partition(":")[0] == served,
    "What follows a colon in the name of a model is ignored.",
    bugs=(157,),
)
models_in_any_case = _known_if(
    "model-case-ignored",
    lambda model, served: model.casefold() == served.casefold(),
    "The names of models are compared without regard to case.",
)


@fault("models-continued-in-streams", "request")
def models_are_continued_in_streams(request: ServedRequest) -> None:
    """In a stream a model whose name continues the right one is answered."""
    model, served = request.payload.get("model"), request.contract.default_model
    if request.payload.get("stream") and isinstance(model, str) and model.startswith(served):
        request.payload["model"] = served


@fault("codes-of-keys", "refusal", applies_to=requires_check("errors.code-of-its-kind"))
def codes_are_those_of_keys(_head: ResponseHead, body: Any, request: ServedRequest) -> Any:
    """The refusal of a value has the code of a wrong key."""
    kinds = request.contract.errors.kinds
    key = kinds.get("invalid_key") or kinds["unauthorized"]
    if isinstance(body, dict) and key.code is not None:
        holder = body["error"] if isinstance(body.get("error"), dict) else body
        holder["code"] = key.code
    return body


def _blame_value(head: ResponseHead, body: Any, request: ServedRequest) -> Any:
    kinds = request.contract.errors.kinds
    if head.status != kinds["unknown_model"].status:
        return body
    head.status, refusal = request.contract.errors.render("invalid_request", "the model does not exist", "model")
    return refusal


def _forget_length(_head: ResponseHead, body: Any, request: ServedRequest) -> Any:
    error = body.get("error") if isinstance(body, dict) else None
    if isinstance(error, dict) and error.get("code") == request.contract.errors.kinds["prompt_too_long"].code:
        error["code"] = request.contract.errors.kinds["invalid_request"].code
    return body


missing_models_are_wrong_values = hooked_fault(
    "missing-models-are-wrong-values",
    "A model that does not exist is refused with the status of a wrong value.",
    refusal=_blame_value,
    applies_to=requires_check("errors.unknown-model-status"),
)
long_prompts_are_wrong_values = hooked_fault(
    "long-prompts-are-wrong-values",
    "A prompt that is too long is refused with the code of a wrong value.",
    refusal=_forget_length,
    applies_to=requires_check("errors.too-long-prompt-named"),
)
