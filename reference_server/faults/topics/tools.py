"""Tool calls that are broken, lost, or made against the client's will."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import orjson

from openapi.stream import sse
from reference_server.faults.decorators import at_seams, choices_of, fault, said_by, spoken
from reference_server.faults.hooks import DATA, DONE, Refused, Reply

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from openapi.contract.contract import Contract
    from reference_server.faults.fault import Fault
    from reference_server.faults.hooks import Head, Json, Told

CALL: Final[Json] = {
    "index": 0,
    "id": "call-1",
    "type": "function",
    "function": {"name": "get_weather", "arguments": "{}"},
}


def calls(contract: Contract) -> bool:
    """The dialect has tools."""
    return "tools" in contract.capabilities


def called(
    name: str,
    edit: Callable[[list[Json], Json], object],
    line: str,
    *,
    plain: bool = True,
    streamed: bool = True,
    **more: Any,
) -> Fault:
    """A fault of tool calls, where there are some."""

    def change(choice: Json, _told: Told) -> None:
        found = spoken(choice).get("tool_calls")
        if found:
            edit(found, choice)

    return said_by(name, change, line, plain=plain, streamed=streamed, **{"fits": calls, **more})


def _each(edit: Callable[[Json], object]) -> Callable[[list[Json], Json], None]:
    def change(found: list[Json], _choice: Json) -> None:
        for call in found:
            edit(call)

    return change


def _function(edit: Callable[[Json], object]) -> Callable[[list[Json], Json], None]:
    return _each(lambda call: edit(call.setdefault("function", {})))


def _arguments(edit: Callable[[str], Any]) -> Callable[[list[Json], Json], None]:
    def change(function: Json) -> None:
        if function.get("arguments"):
            function["arguments"] = edit(function["arguments"])

    return _function(change)


call_index_missing = called(
    "call-index-missing", _each(lambda call: call.pop("index", None)), "Pieces of tool calls have no index.",
    plain=False, bugs=[79],
)  # fmt: skip
call_index_zero = called(
    "call-index-zero", _each(lambda call: call.update(index=0)), "All tool calls have the index 0.",
    plain=False, bugs=[80],
)  # fmt: skip
call_name_in_each_piece = called(
    "call-name-in-each-piece", _function(lambda each: each.update(name="get_weather")),
    "The name of a tool comes with every piece of its call.", plain=False, bugs=[82],
)  # fmt: skip
call_name_empty = called(
    "call-name-empty", _function(lambda each: each.update(name="")), "The name of a tool is an empty text.", bugs=[82]
)
call_arguments_twice = called(
    "call-arguments-twice", _arguments(lambda text: text + text), "Arguments come twice.", bugs=[83]
)
call_arguments_broken = called(
    "call-arguments-broken", _arguments(lambda text: text.rstrip("}")), "Arguments lack their last brace.", bugs=[84]
)
call_arguments_are_objects = called(
    "call-arguments-are-objects", _arguments(lambda text: {"text": text}), "Arguments are an object, not JSON as text.",
    bugs=[84],
)  # fmt: skip
call_id_missing = called(
    "call-id-missing", _each(lambda call: call.pop("id", None)), "Tool calls have no id.", bugs=[87]
)
call_ids_repeat = called(
    "call-ids-repeat", _each(lambda call: call.update(id="0") if call.get("id") else None),
    "All tool calls have the same id.", bugs=[88],
)  # fmt: skip
call_type_missing = called("call-type-missing", _each(lambda call: call.pop("type", None)), "Tool calls have no type.")
call_of_unknown_tool = called(
    "call-of-unknown-tool",
    _function(lambda each: each.update(name="no_such_tool") if each.get("name") else None),
    "A tool is called that was not offered.",
)
calls_lost_in_streams = called(
    "calls-lost-in-streams", lambda found, choice: spoken(choice).pop("tool_calls") and found,
    "Streams lose tool calls.", plain=False, bugs=[89],
)  # fmt: skip
calls_in_content = called(
    "calls-in-content",
    lambda found, choice: spoken(choice).update(tool_calls=[], content=f"<tool_call>{found}</tool_call>"),
    "Tool calls stand in the content, between their tags.",
    streamed=False,
    bugs=[89, 84],
)


def _ends_with_stop(choice: Json, _told: Told) -> None:
    if choice.get("finish_reason") == "tool_calls":
        choice["finish_reason"] = "stop"


calls_end_with_stop = said_by(
    "calls-end-with-stop", _ends_with_stop, "An answer that calls tools ends with stop.", fits=calls, bugs=[51]
)


def _called_when_cut(choice: Json, told: Told) -> None:
    if told.sent.get("tools") and choice.get("finish_reason") == "length":
        choice["finish_reason"] = "tool_calls"


cut_calls_end_with_tool_calls = said_by(
    "cut-calls-end-with-tool-calls", _called_when_cut, "What the limit cut ends with tool_calls.",
    fits=calls, bugs=[52],
)  # fmt: skip


@fault("call-arguments-before-name", "event", fits=calls, bugs=[86])
def call_arguments_before_name(frame: bytes, told: Told) -> Iterator[bytes]:
    """Arguments of a tool call are streamed before its name."""
    chunk = {} if frame == DONE else orjson.loads(frame.removeprefix(DATA))
    for choice in choices_of(chunk):
        for call in choice.get("delta", {}).get("tool_calls") or ():
            name = call.get("function", {}).pop("name", None)
            if name is not None:
                told.memory["name"] = (name, chunk)
    if b'"finish_reason":"' in frame and "name" in told.memory:
        name, first = told.memory.pop("name")
        first["choices"][0]["delta"]["tool_calls"][0]["function"] = {"name": name}
        yield sse.encode(orjson.dumps(first))
    yield frame if frame == DONE else sse.encode(orjson.dumps(chunk))


def _forget_choice(told: Told) -> None:
    if told.sent.get("tool_choice") not in (None, "auto", "none"):
        told.sent["tool_choice"] = "auto"


def _forget_tools(told: Told) -> None:
    if told.sent.get("tools"):
        for name in ("tools", "tool_choice", "parallel_tool_calls"):
            told.sent.pop(name, None)


def _call_all_the_same(holder: Json, told: Told) -> None:
    if told.sent.get("tool_choice") == "none" and told.sent.get("tools"):
        for choice in choices_of(holder):
            spoken(choice)["tool_calls"] = [CALL]


def _forget_order(told: Told) -> None:
    told.sent.pop("parallel_tool_calls", None)


calls_at_once = at_seams(
    "calls-at-once", "`parallel_tool_calls: false` is ignored.", request=_forget_order,
    fits=lambda contract: calls(contract) and "parallel_tool_calls" in contract.parameters,
)  # fmt: skip
choice_ignored = at_seams(
    "tool-choice-ignored", "`tool_choice` required, or a named tool, is ignored.", request=_forget_choice, fits=calls,
    bugs=[92],
)  # fmt: skip
tools_ignored = at_seams(
    "tools-ignored", "`tools` is taken and ignored.", request=_forget_tools, fits=calls, declares=("tools",), bugs=[92]
)
none_ignored = at_seams(
    "tool-choice-none-ignored",
    "A tool is called although `tool_choice` is none.",
    request=_forget_tools,
    answer=_call_all_the_same,
    chunk=_call_all_the_same,
    fits=calls,
    declares=("tools",),
    bugs=[91],
)


def _refuse_null_content(told: Told) -> None:
    messages = told.sent.get("messages")
    for message in messages if isinstance(messages, list) else ():
        if isinstance(message, dict) and message.get("role") == "assistant" and message.get("content", "") is None:
            raise Refused("invalid_request", "messages: content must not be null")


def _refuse_empty_content(told: Told) -> None:
    messages = told.sent.get("messages")
    for message in messages if isinstance(messages, list) else ():
        if isinstance(message, dict) and message.get("content") == "":
            raise Refused("invalid_request", "messages: content must not be empty")


null_content_refused = at_seams(
    "null-content-refused", "An assistant's message without content is refused.", request=_refuse_null_content,
    fits=calls, bugs=[94],
)  # fmt: skip


def _takes_empty_content(contract: Contract) -> bool:
    probes = contract.parameters["messages"].probes
    return any(probe.name == "content-empty" and probe.expect == "accept" for probe in probes)


empty_content_refused = at_seams(
    "empty-content-refused",
    "An empty content is refused.",
    request=_refuse_empty_content,
    bugs=[95],
    fits=_takes_empty_content,
)


@fault("bad-history-500", "refusal", fits=calls, bugs=[96])
def bad_history_is_500(head: Head, body: Any, told: Told) -> Any:
    """Bad tool calls in the history get a 500."""
    if b'"tool_calls"' in told.body:
        head.status = 500
    return body


def _doubled(found: list[Json], _choice: Json) -> None:
    if len(found) == 1 and found[0].get("id"):
        found.append({**found[0], "id": f"{found[0]['id']}-2", **({"index": 1} if "index" in found[0] else {})})


def _with_marks(found: list[Json], choice: Json) -> None:
    names = [call.get("function", {}).get("name") for call in found]
    if any(names):
        spoken(choice)["content"] = f'<tool_call>{{"name": "{names[0]}"}}</tool_call>'


def _moved(found: list[Json], _choice: Json) -> None:
    for call in found:
        call["index"] = call.get("index", 0) + 1


def _called_unasked(holder: Json, told: Told) -> None:
    if not told.sent.get("tools"):
        for choice in choices_of(holder):
            if choice.get("finish_reason") is None or "message" in choice:
                spoken(choice)["tool_calls"] = [CALL]


def _history(told: Told) -> Reply | None:
    messages = told.sent.get("messages")
    if any(isinstance(message, dict) and message.get("role") == "tool" for message in messages or ()):
        return Reply(500, b"{}")
    return None


calls_doubled = called("calls-doubled", _doubled, "Every call is made twice.")
call_arguments_empty = called(
    "call-arguments-empty", _arguments(lambda _text: "{}"), "The arguments of a call lack what its function requires.",
    streamed=False, bugs=[84],
)  # fmt: skip
call_name_doubled = called(
    "call-name-doubled", _function(lambda each: each.update(name=each["name"] * 2) if each.get("name") else None),
    "The name of a call stands twice in it.", bugs=[82],
)  # fmt: skip
calls_with_marks = called("calls-with-marks", _with_marks, "A call stands in the text too, in the model's own marks.")
call_index_from_one = called(
    "call-index-from-one", _moved, "The index of the first streamed call is 1.", plain=False, bugs=[80]
)
calls_lost = called(
    "calls-lost", lambda found, choice: spoken(choice).update(tool_calls=[], content="") or found,
    "What the model wrote is neither text nor call: it is lost.",
)  # fmt: skip
call_unasked = at_seams(
    "call-unasked", "A tool is called that nobody offered.", answer=_called_unasked, chunk=_called_unasked, fits=calls
)
history_of_calls_is_500 = at_seams(
    "history-of-calls-500", "A conversation that holds calls gets a 500.", request=_history, fits=calls, bugs=[96]
)
