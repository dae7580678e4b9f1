"""Faults in reading the turns and the functions of agents."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final

from reference_server.faults.decorators import hooked_fault
from reference_server.faults.hooks import Refusal
from reference_server.faults.topics.tools.calls import calls

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from reference_server.faults.fault import Fault
    from reference_server.faults.hooks import Json, ServedRequest

MOST_FUNCTIONS: Final = 32


def _messages(sent: Json) -> list[Json]:
    messages = sent.get("messages")
    return [item for item in messages if isinstance(item, dict)] if isinstance(messages, list) else []


def _results(sent: Json) -> Iterator[Json]:
    return (message for message in _messages(sent) if message.get("role") == "tool")


def _called(message: Json) -> list[Any]:
    made = message.get("tool_calls")
    return made if isinstance(made, list) else []


def _functions(sent: Json) -> list[Json]:
    tools = sent.get("tools")
    offered = (tool.get("function") for tool in tools if isinstance(tool, dict)) if isinstance(tools, list) else ()
    return [function for function in offered if isinstance(function, dict)]


def _results_are_mixed(sent: Json) -> bool:
    """Tell whether the first of several results is not that of the first call."""
    pairs = pairwise(_messages(sent))
    return any(
        len(_called(first)) > 1
        and second.get("role") == "tool"
        and second.get("tool_call_id") != _called(first)[0].get("id")
        for first, second in pairs
    )


def _refused(name: str, line: str, unusual: Callable[[Json], bool]) -> Fault:
    def refuse(request: ServedRequest) -> None:
        if unusual(request.payload):
            raise Refusal("invalid_request", "messages or tools: unsupported form")

    return hooked_fault(name, line, request=refuse, applies_to=calls, bugs=[209])


blank_results_refused = _refused(
    "blank-results-refused",
    "The result of a tool that consists of blanks is refused.",
    lambda sent: any(isinstance(item.get("content"), str) and not item["content"].strip() for item in _results(sent)),
)
mixed_results_refused = _refused(
    "results-out-of-order-refused",
    "Results of tools in another order than the calls are refused.",
    _results_are_mixed,
)
histories_need_tools = _refused(
    "calls-without-tools-refused",
    "Earlier calls are refused if the request offers no tools.",
    lambda sent: not sent.get("tools") and any(map(_called, _messages(sent))),
)
questions_after_results_refused = _refused(
    "questions-after-results-refused",
    "A question right after the result of a tool is refused.",
    lambda sent: any(
        first.get("role") == "tool" and second.get("role") == "user" for first, second in pairwise(_messages(sent))
    ),
)
empty_descriptions_refused = _refused(
    "empty-descriptions-refused",
    "A function with an empty description is refused.",
    lambda sent: any(item.get("description") == "" for item in _functions(sent)),
)
many_functions_refused = _refused(
    "many-functions-refused",
    "More than 32 functions are refused.",
    lambda sent: len(_functions(sent)) > MOST_FUNCTIONS,
)
called_unions_refused = _refused(
    "called-unions-refused",
    "A function whose parameters have alternatives is refused.",
    lambda sent: any("'anyOf'" in repr(item.get("parameters")) for item in _functions(sent)),
)
underscores_refused = _refused(
    "leading-underscores-refused",
    "A function whose name begins with an underscore is refused.",
    lambda sent: any(str(item.get("name")).startswith("_") for item in _functions(sent)),
)


def _keep_one_result(request: ServedRequest) -> None:
    """Keep one result of several calls: the first that comes."""
    kept: list[Json] = []
    for message in _messages(request.payload):
        if not (message.get("role") == "tool" and kept and kept[-1].get("role") == "tool"):
            kept.append(message)
    if kept:
        request.payload["messages"] = kept


later_results_dropped = hooked_fault(
    "later-results-dropped",
    "Of several results in a row, only the first one reaches the model.",
    request=_keep_one_result,
    applies_to=calls,
    bugs=[209],
)
