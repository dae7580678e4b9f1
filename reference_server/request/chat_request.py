"""From the bytes of a body to a ChatRequest, or to one clear refusal."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from openapi.contract.parameter import ABSENT
from openapi.description.validation import BodyRequest, Validator
from openapi.stream.strict_json import NOT_JSON, quote, read_json
from reference_server.errors import ApiError
from reference_server.request.response_format import asked_form, text_grammar
from reference_server.request.response_options import telling
from reference_server.request.sampling import effort_kwargs, sampling_params, text_of
from reference_server.request.tool_choice import calling, earlier_calls
from reference_server.tool_call_output import FUNCTIONS, CallForm

if TYPE_CHECKING:
    from collections.abc import Mapping

    from openapi.contract.contract import Contract
    from reference_server.engine import SamplingParams
    from reference_server.request.response_options import Telling

ROLE: Final = "assistant"
DEEPEST: Final = 64
"""Levels of objects and lists that a body may nest; what the documents describe takes fewer than ten."""

LONG_INTEGER: Final = "Exceeds the limit"  # how Python's refusal of more than 4,300 digits begins

TEMPLATE_OPTIONS: Final = frozenset(
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
"""Names in chat_template_kwargs that would replace the template or its input, not fill it in."""


@dataclass(frozen=True, slots=True)
class ChatRequest:
    """A request that keeps the contract, with every default filled in.

    messages: role and content of each turn; content is one text. A turn may have calls, or answer one.
    telling: what the answer shall say beside what the model does.
    tools: those that the prompt names. call_form: how calls of them are written.
    """

    messages: list[dict[str, Any]]
    params: SamplingParams
    stream: bool
    telling: Telling
    template_kwargs: Mapping[str, Any]
    tools: list[dict[str, Any]] | None = None
    call_form: CallForm = FUNCTIONS


class RequestReader:
    """Reads the bodies of one served contract. It may be shared between threads.

    parsed: whether the model's chat template takes arguments of earlier calls as objects, not as texts.
    """

    def __init__(self, contract: Contract, model: str, *, parsed: bool = True) -> None:
        self._contract = contract
        self._parsed = parsed
        self._model = model
        self._validator = Validator(contract)
        self._validator.prepare()  # now, not in the first request
        self._thinks = "thinking" in contract.capabilities
        # Only where requests can turn thoughts off does the template's own default decide.
        decides = self._thinks and "chat_template_kwargs" in contract.parameters
        self._template_defaults = {} if decides else {"enable_thinking": False}

    def read(self, body: bytes) -> ChatRequest:
        """The request that a body holds; raises ApiError."""
        value = parse(body)
        refusals = self._validator.refusals(BodyRequest(self._contract.path, body))
        if refusals:
            words = "; ".join(problem.message for problem in refusals)
            raise ApiError("invalid_request", words, param=refusals[0].parameter or None)
        for name in self._contract.unsupported:
            if value.get(name) not in (None, [], {}):
                raise ApiError("invalid_request", f"{name} is not supported: leave it out", param=name)
        if value.get("model", self._model) != self._model:
            asked = quote(value["model"])
            words = f"model: there is no model {asked}; this server answers for {self._model}"
            raise ApiError("unknown_model", words, param="model")
        return self._chat_request(value)

    def _chat_request(self, body: Mapping[str, Any]) -> ChatRequest:
        given = {name: self._given(body, name) for name in self._contract.parameters}
        stream = bool(given.get("stream"))
        template_kwargs = {**self._template_kwargs(given), **written(given)}
        called = calling(given)
        params = sampling_params(
            self._contract,
            body,
            given,
            stop_text_shown=self._stop_text_shown(body, stream),
            reasoning=self._thinks and template_kwargs.get("enable_thinking") is not False,
        )
        return ChatRequest(
            messages=[_message(message, parsed=self._parsed) for message in body["messages"]],
            params=replace(params, tools=called.use, grammar=text_grammar(given), **asked_form(given)),
            stream=stream,
            telling=replace(telling(given), echo=echoed(given)),
            template_kwargs=template_kwargs,
            tools=called.shown,
            call_form=called.form,
        )

    def _given(self, body: Mapping[str, Any], name: str) -> Any:
        """What was sent, or the documented default; None when there is neither. Null is the same as absent."""
        value = body.get(name)
        default = self._contract.parameters[name].default
        return default if value is None and default is not ABSENT else value

    def _stop_text_shown(self, body: Mapping[str, Any], stream: bool) -> bool:
        """Whether a stop text stays in the answer; some dialects have another default for streams."""
        sent = body.get("include_stop_str_in_output")
        return stream and self._contract.stream.stop_text == "included" if sent is None else sent

    def _template_kwargs(self, given: Mapping[str, Any]) -> dict[str, Any]:
        sent = given.get("chat_template_kwargs") or {}
        taken = sorted(TEMPLATE_OPTIONS.intersection(sent))
        if taken:
            words = f"chat_template_kwargs.{taken[0]} is not an argument of the template: leave it out"
            raise ApiError("invalid_request", words, param="chat_template_kwargs")
        return {**self._template_defaults, **effort_kwargs(given.get("reasoning_effort")), **sent}


def written(given: Mapping[str, Any]) -> dict[str, Any]:
    """How the template is to write the prompt, where the request does not leave that to the server. Raises ApiError."""
    if given.get("chat_template") is not None:
        words = "chat_template: this server trusts its model's template only: leave it out"
        raise ApiError("invalid_request", words, param="chat_template")
    opened, continued = given.get("add_generation_prompt") is not False, bool(given.get("continue_final_message"))
    if opened and continued:
        words = "continue_final_message needs add_generation_prompt to be false"
        raise ApiError("invalid_request", words, param="continue_final_message")
    asked: dict[str, Any] = {} if opened else {"add_generation_prompt": False}
    if continued:
        asked["continue_final_message"] = True
    if given.get("add_special_tokens"):
        asked["add_special_tokens"] = True
    if given.get("documents") is not None:
        asked["documents"] = given["documents"]
    return asked


def echoed(given: Mapping[str, Any]) -> str:
    """The text that an answer repeats before its own: the last message, if that is wanted and the assistant's."""
    last = given["messages"][-1] if given.get("echo") else {}
    return text_of(last.get("content") or "") if last.get("role") == ROLE else ""


def parse(body: bytes) -> dict[str, Any]:
    """The object that a body holds; raises ApiError invalid_json or, for JSON of another kind, invalid_request.

    Refused is what parsers disagree on: bytes that are not UTF-8, NaN and Infinity, numbers beyond a double, half a
    surrogate pair, a key that occurs twice, and what only exhausts: more than 64 levels, endless integers.
    """
    try:
        text = body.decode()
    except UnicodeDecodeError as error:
        raise ApiError(
            "invalid_json", f"the body is not UTF-8: byte {error.start} is {body[error.start]:#04x}"
        ) from None
    if not text.strip(" \t\r\n"):
        raise ApiError("invalid_json", "the body is empty: send a JSON object")
    reading = read_json(text)
    if reading.value is NOT_JSON:
        reason = "an integer has more than 4300 digits" if reading.error.startswith(LONG_INTEGER) else reading.error
        raise ApiError("invalid_json", f"the body is not JSON that can be read: {reason}")
    if reading.oddities:
        raise ApiError("invalid_json", f"the body holds a {reading.oddities[0]}, which readers take differently")
    if body.count(b"[") + body.count(b"{") > DEEPEST and _depth(reading.value) > DEEPEST:
        raise ApiError("invalid_json", f"the body is nested more than {DEEPEST} levels deep")
    if not isinstance(reading.value, dict):
        raise ApiError("invalid_request", "the body must be a JSON object")
    return reading.value


def _depth(value: object) -> int:
    """Levels of objects and lists, counted level by level and no further than needed."""
    depth = 0
    level: list[Any] = [value]
    while depth <= DEEPEST:
        level = [item for item in level if isinstance(item, (dict, list))]
        if not level:
            break
        depth += 1
        level = [item for holder in level for item in (holder.values() if isinstance(holder, dict) else holder)]
    return depth


def _message(message: Mapping[str, Any], *, parsed: bool) -> dict[str, Any]:
    """A turn, as templates for text expect it; no content is an empty one, and what a model refused is what it said."""
    role = "tool" if message["role"] == "function" else message["role"]
    turn = {"role": role, "content": text_of(message.get("content") or message.get("refusal") or "")}
    if message.get("function_call"):
        call = {"id": message["function_call"]["name"], "type": "function", "function": message["function_call"]}
        turn["tool_calls"] = earlier_calls([call], parsed=parsed)
    if message.get("tool_calls"):
        turn["tool_calls"] = earlier_calls(message["tool_calls"], parsed=parsed)
    if message["role"] == "function":
        turn["tool_call_id"] = message["name"]
    if message.get("tool_call_id") is not None:
        turn["tool_call_id"] = message["tool_call_id"]
    return turn
