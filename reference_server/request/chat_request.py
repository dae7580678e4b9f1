"""Conversion of a request body to a `ChatRequest`, or to an error."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from openapi.contract.parameter import ABSENT
from openapi.description.body_request import BodyRequest
from openapi.description.validation import Validator
from openapi.stream.strict_json import NOT_JSON, quote, read_json
from reference_server.errors import ApiError
from reference_server.request.client_schema import MAX_DEPTH, depth
from reference_server.request.long_strings import lift_long_strings, restore_long_strings
from reference_server.request.media_parts import MediaPartReader
from reference_server.request.response_format import format_parameters, text_grammar
from reference_server.request.response_options import read_response_options
from reference_server.request.sampling import NO_DEFAULTS, content_text, effort_options, sampling_params
from reference_server.request.tool_choice import convert_earlier_calls, select_tools
from reference_server.tool_call_output import DEFAULT_FORMAT, ToolCallFormat

if TYPE_CHECKING:
    from collections.abc import Mapping

    from openapi.contract.contract import Contract
    from reference_server.engine import SamplingParams
    from reference_server.request.response_options import ResponseOptions

ROLE: Final = "assistant"
MAX_VALUES: Final = 400_000
"""Maximum number of values in a body, counted before it is parsed: each needs up to 200 bytes of memory."""
STRING: Final = re.compile(rb'"(?:[^"\\]|\\.)*"', re.DOTALL)

LONG_INTEGER: Final = "Exceeds the limit"  # beginning of Python's error for integers with more than 4,300 digits

RESERVED_TEMPLATE_OPTIONS: Final = frozenset(
    {
        "add_generation_prompt",
        "add_special_tokens",
        "chat_template",
        "continue_final_message",
        "conversation",
        "documents",
        "max_length",
        "messages",
        "padding",
        "processor_kwargs",
        "return_assistant_tokens_mask",
        "return_dict",
        "return_tensors",
        "tokenize",
        "tokenizer_kwargs",
        "tools",
        "truncation",
    }
)
"""Names in chat_template_kwargs that would replace the template or its input instead of being passed to it."""

REFUSED_PARAMETERS: Final = ("media_io_kwargs", "mm_processor_kwargs")
"""Parameters of media that only servers with other processors of media can follow."""


@dataclass(frozen=True, slots=True)
class ChatRequest:
    """A valid request, with every default filled in.

    messages: role and content of each turn; the content is a string, or a list of parts if it has media. A turn may
        have tool calls, or answer one.
    params: sampling parameters for the engine.
    stream: whether the response is a stream.
    options: which optional fields the response has.
    template_kwargs: arguments of the chat template.
    tools: tools that the prompt lists.
    call_format: how the response writes tool calls.
    """

    messages: list[dict[str, Any]]
    params: SamplingParams
    stream: bool
    options: ResponseOptions
    template_kwargs: Mapping[str, Any]
    tools: list[dict[str, Any]] | None = None
    call_format: ToolCallFormat = DEFAULT_FORMAT


class RequestReader:
    """Reads request bodies for one served contract. Threads may share it.

    parsed_arguments: whether the model's chat template takes the arguments of earlier calls as objects, not as strings.
    sampling_defaults: the model's own values of sampling parameters.
    """

    def __init__(
        self,
        contract: Contract,
        model: str,
        *,
        parsed_arguments: bool = True,
        sampling_defaults: Mapping[str, float] = NO_DEFAULTS,
    ) -> None:
        self._contract = contract
        self._parsed_arguments = parsed_arguments
        self._sampling_defaults = sampling_defaults
        self._model = model
        self._media_parts = MediaPartReader(contract)
        self._validator = Validator(contract.with_server_limits())
        self._validator.prepare()  # now rather than in the first request
        self._separates_reasoning = "thinking" in contract.capabilities
        # The template's own default applies only if requests can turn reasoning off.
        can_turn_off = self._separates_reasoning and "chat_template_kwargs" in contract.parameters
        self._template_defaults = {} if can_turn_off else {"enable_thinking": False}

    def read(self, body: bytes) -> ChatRequest:
        """Return the request in a body; raise ApiError."""
        parsed = parse_body(body)
        if self._media_parts.hold_all(parsed.value, parsed.lifted):
            # No other thread runs while a string of megabytes is copied or validated.
            value, judged, files = parsed
        else:
            value, judged, files = parsed.restore(), body, {}
        refusals = self._validator.refusals(BodyRequest(self._contract.path, judged))
        if refusals:
            words = "; ".join(problem.message for problem in refusals)
            raise ApiError("invalid_request", words, param=refusals[0].parameter or None)
        for name in (*self._contract.unsupported, *REFUSED_PARAMETERS):
            if value.get(name) not in (None, [], {}):
                raise ApiError("invalid_request", f"{name} is not supported: remove it", param=name)
        if value.get("model", self._model) != self._model:
            words = f"model: unknown model {quote(value['model'])}: this server serves {self._model}"
            raise ApiError("unknown_model", words, param="model")
        return self._chat_request(value, files)

    def _chat_request(self, body: Mapping[str, Any], files: Mapping[str, memoryview]) -> ChatRequest:
        given = {name: self._given(body, name) for name in self._contract.parameters}
        stream = bool(given.get("stream"))
        template_kwargs = {**self._template_kwargs(given), **prompt_options(given)}
        selection = select_tools(given)
        params = sampling_params(
            self._contract,
            body,
            given,
            stop_text_shown=self._shows_stop_text(body, stream),
            reasoning=self._separates_reasoning and template_kwargs.get("enable_thinking") is not False,
            model_defaults=self._sampling_defaults,
        )
        messages = [self._message(message, f"messages[{at}]", files) for at, message in enumerate(body["messages"])]
        self._media_parts.check_count(messages)
        return ChatRequest(
            messages=messages,
            params=replace(params, tools=selection.use, grammar=text_grammar(given), **format_parameters(given)),
            stream=stream,
            options=replace(read_response_options(given), echo=echoed_text(given)),
            template_kwargs=template_kwargs,
            tools=selection.prompt_tools,
            call_format=selection.call_format,
        )

    def _given(self, body: Mapping[str, Any], name: str) -> Any:
        """Return the value sent, else the documented default, else None. Null counts as absent."""
        value = body.get(name)
        default = self._contract.parameters[name].default
        return default if value is None and default is not ABSENT else value

    def _shows_stop_text(self, body: Mapping[str, Any], stream: bool) -> bool:
        """Whether a stop string stays in the answer; some dialects have another default for streams."""
        sent = body.get("include_stop_str_in_output")
        return stream and self._contract.stream.stop_text == "included" if sent is None else sent

    def _message(self, message: Mapping[str, Any], where: str, files: Mapping[str, memoryview]) -> dict[str, Any]:
        """Convert a message to a turn for the chat template.

        Missing content becomes an empty string, and a refusal of the model becomes its content.
        """
        role = "tool" if message["role"] == "function" else message["role"]
        content = message.get("content") or message.get("refusal") or ""
        turn = {"role": role, "content": self._media_parts.read_content(content, f"{where}.content", files)}
        if message.get("function_call"):
            call = {"id": message["function_call"]["name"], "type": "function", "function": message["function_call"]}
            turn["tool_calls"] = convert_earlier_calls([call], parsed_arguments=self._parsed_arguments)
        if message.get("tool_calls"):
            turn["tool_calls"] = convert_earlier_calls(message["tool_calls"], parsed_arguments=self._parsed_arguments)
        if message["role"] == "function":
            turn["tool_call_id"] = message["name"]
        if message.get("tool_call_id") is not None:
            turn["tool_call_id"] = message["tool_call_id"]
        return turn

    def _template_kwargs(self, given: Mapping[str, Any]) -> dict[str, Any]:
        sent = given.get("chat_template_kwargs") or {}
        reserved = sorted(RESERVED_TEMPLATE_OPTIONS.intersection(sent))
        if reserved:
            words = f"chat_template_kwargs.{reserved[0]} is not an argument of the template: remove it"
            raise ApiError("invalid_request", words, param="chat_template_kwargs")
        return {**self._template_defaults, **effort_options(given.get("reasoning_effort")), **sent}


def prompt_options(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the template options that the request sets by parameters of its own. Raises ApiError."""
    if given.get("chat_template") is not None:
        words = "chat_template is not supported: this server renders only the template of its model; remove it"
        raise ApiError("invalid_request", words, param="chat_template")
    continued = bool(given.get("continue_final_message"))
    opened = given.get("add_generation_prompt", not continued) is not False  # some dialects have only the other one
    if opened and continued:
        words = "continue_final_message requires add_generation_prompt to be false"
        raise ApiError("invalid_request", words, param="continue_final_message")
    options: dict[str, Any] = {} if opened else {"add_generation_prompt": False}
    if continued:
        options["continue_final_message"] = True
    if given.get("add_special_tokens"):
        options["add_special_tokens"] = True
    if given.get("documents") is not None:
        options["documents"] = given["documents"]
    return options


def echoed_text(given: Mapping[str, Any]) -> str:
    """Return the text of the last message if `echo` is set and the message is the assistant's, else an empty string."""
    last = given["messages"][-1] if given.get("echo") else {}
    return content_text(last.get("content") or "") if last.get("role") == ROLE else ""


class ParsedBody(NamedTuple):
    """The JSON object in a body with names in place of its long strings, its JSON, and the strings by their names."""

    value: dict[str, Any]
    short: bytes
    lifted: Mapping[str, memoryview]

    def restore(self) -> dict[str, Any]:
        """Return the object with the long strings."""
        restored: dict[str, Any] = restore_long_strings(self.value, self.lifted) if self.lifted else self.value
        return restored


def parse_body(body: bytes) -> ParsedBody:
    """Return the JSON object in a body; raise ApiError invalid_json, or invalid_request for JSON of another type.

    Input on which JSON parsers disagree is refused: bytes that are not UTF-8, NaN and Infinity, numbers beyond the
    range of a double, lone surrogates, duplicate keys. So is input that only exhausts resources: more than 64 levels,
    integers with more than 4,300 digits.
    """
    body, lifted = lift_long_strings(body)
    try:
        text = body.decode()
    except UnicodeDecodeError as error:
        raise ApiError(
            "invalid_json", f"the body is not UTF-8: byte {error.start} is {body[error.start]:#04x}"
        ) from None
    if not text.strip(" \t\r\n"):
        raise ApiError("invalid_json", "the body is empty: send a JSON object")
    # Each value but the first of its container follows a comma. Prose has few enough commas, but tables may not.
    if body.count(b",") > MAX_VALUES and STRING.sub(b"", body).count(b",") > MAX_VALUES:
        raise ApiError("invalid_json", f"the body has more than {MAX_VALUES} values")
    reading = read_json(text)
    if reading.value is NOT_JSON:
        reason = "an integer has more than 4300 digits" if reading.error.startswith(LONG_INTEGER) else reading.error
        raise ApiError("invalid_json", f"the body is not valid JSON: {reason}")
    if reading.oddities:
        raise ApiError("invalid_json", f"the body contains a {reading.oddities[0]}, on which JSON parsers disagree")
    if body.count(b"[") + body.count(b"{") > MAX_DEPTH and depth(reading.value) > MAX_DEPTH:
        raise ApiError("invalid_json", f"the body is nested more than {MAX_DEPTH} levels deep")
    if not isinstance(reading.value, dict):
        raise ApiError("invalid_request", "the body must be a JSON object")
    return ParsedBody(reading.value, body, lifted)
