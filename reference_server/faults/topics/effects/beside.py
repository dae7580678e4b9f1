"""Faults in which a parameter loses its effect next to another parameter."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from reference_server.faults.decorators import has_parameters, hooked_fault, requires_check
from reference_server.faults.request_edits import ignoring

if TYPE_CHECKING:
    from collections.abc import Callable

    from openapi.contract.contract import Contract
    from reference_server.faults.fault import Fault
    from reference_server.faults.hooks import ServedRequest

FEW_PAGES: Final = 4_000  # bytes


def lost_beside(name: str, lost: str, beside: str, line: str, *, bug: int | None = None) -> Fault:
    """Make a fault that drops a parameter if the request also has another one."""
    drop = ignoring(lost)

    def edit(request: ServedRequest) -> None:
        if request.payload.get(beside) not in (None, False):
            drop(request)

    bugs = () if bug is None else (bug,)
    return hooked_fault(name, line, request=edit, applies_to=lambda contract: _meet(contract, lost, beside), bugs=bugs)


def _meet(contract: Contract, first: str, second: str) -> bool:
    """Tell whether a dialect has both parameters, and no rule by which the first one is refused next to the second."""
    forbidden = f"{second}-without-{first}" in contract.rules
    return has_parameters(first, second)(contract) and not forbidden


top_k_lost = lost_beside(
    "top-k-lost-beside-a-stop", "top_k", "stop", "`top_k` is ignored if there is a stop string.", bug=146
)
top_k_lost_beside_tools = lost_beside(
    "top-k-lost-beside-tools", "top_k", "tools", "`top_k` is ignored if there are tools."
)
top_p_lost = lost_beside(
    "top-p-lost-beside-top-k", "top_p", "top_k", "`top_p` is ignored if there is a top_k.", bug=146
)
min_p_lost = lost_beside(
    "min-p-lost-beside-top-k", "min_p", "top_k", "`min_p` is ignored if there is a top_k.", bug=146
)
frequency_lost_beside_tools = lost_beside(
    "frequency-penalty-lost-beside-tools",
    "frequency_penalty",
    "tools",
    "`frequency_penalty` is ignored if there are tools.",
)
seed_lost = lost_beside(
    "seed-lost-beside-a-stop", "seed", "stop", "A seed is ignored if there is a stop string.", bug=147
)
seed_lost_beside_tools = lost_beside(
    "seed-lost-beside-tools", "seed", "tools", "A seed is ignored if there are tools.", bug=147
)

seed_lost_beside_forms = lost_beside(
    "seed-lost-beside-a-form",
    "seed",
    "response_format",
    "A seed is ignored if there is a response_format.",
    bug=147,
)


def _choose_likeliest_beside(name: str) -> Callable[[ServedRequest], None]:
    def edit(request: ServedRequest) -> None:
        if request.payload.get(name):
            request.payload["temperature"] = 0

    return edit


temperature_lost = hooked_fault(
    "temperature-lost-beside-tools",
    "The most likely token is always chosen if there are tools.",
    request=_choose_likeliest_beside("tools"),
    applies_to=has_parameters("temperature", "tools"),
)
temperature_lost_beside_forms = hooked_fault(
    "temperature-lost-beside-a-form",
    "The most likely token is always chosen if there is a response_format.",
    request=_choose_likeliest_beside("response_format"),
    applies_to=requires_check("effects.temperature-beside-forms"),
)
bias_lost = lost_beside(
    "logit-bias-lost-beside-a-seed", "logit_bias", "seed", "`logit_bias` is ignored if there is a seed.", bug=147
)
frequency_lost = lost_beside(
    "frequency-penalty-lost-beside-top-p",
    "frequency_penalty",
    "top_p",
    "`frequency_penalty` is ignored if there is a top_p.",
)
stop_lost = lost_beside("stop-lost-beside-tools", "stop", "tools", "Stop strings are ignored if there are tools.")


def _has_several(request: ServedRequest) -> bool:
    number = request.payload.get("n")
    return isinstance(number, int) and number > 1


def _forget_words(request: ServedRequest) -> None:
    if _has_several(request):
        request.payload.pop("bad_words", None)
        request.payload.pop("logit_bias", None)


words_lost = hooked_fault(
    "bans-and-biases-lost-beside-choices",
    "`bad_words` and `logit_bias` are ignored if there are several choices.",
    request=_forget_words,
    applies_to=has_parameters("bad_words", "n"),
)


def _forget_for_several(*names: str) -> Callable[[ServedRequest], None]:
    drop = ignoring(*names)

    def edit(request: ServedRequest) -> None:
        if _has_several(request):
            drop(request)

    return edit


stop_tokens_lost = hooked_fault(
    "stop-token-ids-lost-beside-choices",
    "`stop_token_ids` is ignored if there are several choices.",
    request=_forget_for_several("stop_token_ids"),
    applies_to=requires_check("effects.stop-token-ids-beside-others"),
)
echo_lost = hooked_fault(
    "echo-lost-beside-choices",
    "`echo` is ignored if there are several choices.",
    request=_forget_for_several("echo"),
    applies_to=has_parameters("echo", "n"),
)


def _forget_seed_after_pages(request: ServedRequest) -> None:
    if len(request.body) > FEW_PAGES:
        request.payload.pop("seed", None)


seed_lost_after_pages = hooked_fault(
    "seed-lost-after-pages",
    "A seed is ignored if the request has more than 4,000 bytes.",
    request=_forget_seed_after_pages,
    applies_to=has_parameters("seed"),
)
penalties_lost = hooked_fault(
    "penalties-lost-beside-choices",
    "Penalties are ignored if there are several choices.",
    request=_forget_for_several("presence_penalty", "frequency_penalty", "repetition_penalty"),
    applies_to=requires_check("effects.penalties-drawn"),
)
