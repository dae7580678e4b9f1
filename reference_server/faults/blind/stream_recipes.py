"""Edit the text and the arguments of a stream piece by piece, with a state for each choice and call."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from reference_server.faults.decorators import choices_of, has_parameters, hooked_fault, message_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from reference_server.faults.fault import Fault
    from reference_server.faults.hooks import Json, ServedRequest

    PieceEdit = Callable[[str], str]


class StreamedJson:
    """Tells for each character of JSON, which arrives in pieces, whether it is inside a string."""

    def __init__(self) -> None:
        self._inside = False
        self._escaped = False

    def is_inside(self, character: str) -> bool:
        """Whether the next character belongs to a string or ends one."""
        was_inside = self._inside
        if self._escaped:
            self._escaped = False
        elif character == "\\" and was_inside:
            self._escaped = True
        elif character == '"':
            self._inside = not was_inside
        return was_inside


def streamed_arguments_fault(
    name: str, line: str, make_edit: Callable[[], PieceEdit], is_hit: Callable[[Json], bool] = bool
) -> Fault:
    """Make a fault of streamed arguments. `make_edit` is called once for each call."""

    def change(chunk: Json, request: ServedRequest) -> None:
        edits: dict[Any, PieceEdit] = request.state.setdefault("edits", {})
        for choice in choices_of(chunk) if is_hit(request.payload) else ():
            for call in message_of(choice).get("tool_calls") or ():
                function = call.get("function") or {}
                if function.get("arguments"):
                    edit = edits.setdefault((choice.get("index"), call.get("index")), make_edit())
                    function["arguments"] = edit(function["arguments"])

    return hooked_fault(name, line, chunk=change, applies_to=has_parameters("tools"))


def streamed_text_fault(name: str, line: str, edit: Callable[[str, Json, ServedRequest], str], **options: Any) -> Fault:
    """Make a fault of streamed text. `edit` gets a piece, the state of its choice and the request."""

    def change(chunk: Json, request: ServedRequest) -> None:
        for choice in choices_of(chunk):
            said = message_of(choice)
            if isinstance(said.get("content"), str) and said["content"]:
                state = request.state.setdefault(choice.get("index", 0), {})
                said["content"] = edit(said["content"], state, request)

    return hooked_fault(name, line, chunk=change, **options)
