"""Plain answers: envelope, choices, message."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from conformance.check import Context, Finding, NoOccasion, NotObserved, check
from conformance.members import unknown_members
from conformance.occasion import EXPECTED_ANSWER, LOGPROBS, PLAIN_ANSWER, SEVERAL_CHOICES, greedy, shown, written
from openapi.stream import reports_error
from openapi.strict_json import read_json

if TYPE_CHECKING:
    from collections.abc import Iterator

    from conformance.exchange import Exchange

CLOCK_SKEW = timedelta(hours=1)  # clocks of servers are wrong, but not by more


def choices_of(exchange: Exchange) -> list[dict[str, Any]]:
    """The choices of a plain answer that are objects; raises NotObserved when there are none."""
    choices = exchange.json.get("choices") if isinstance(exchange.json, dict) else None
    found = [choice for choice in choices if isinstance(choice, dict)] if isinstance(choices, list) else []
    if not found:
        raise NotObserved("the answer has no choices")
    return found


def envelope(exchange: Exchange) -> dict[str, Any]:
    """The answer's object; raises NotObserved when the body is none."""
    if not isinstance(exchange.json, dict):
        raise NotObserved("the body is no JSON object")
    return exchange.json


def created_faults(where: str, found: object, exchange: Exchange) -> Iterator[Finding]:
    """A finding when `found` is not the time of the exchange in whole seconds, an hour more or less."""
    sent = datetime.fromisoformat(exchange.started_at)
    low, high = (int((sent + sign * CLOCK_SKEW).timestamp()) for sign in (-1, 1))
    if isinstance(found, bool) or not isinstance(found, int) or not low <= found <= high:
        yield Finding(where, f"seconds between {low} and {high}", repr(found))


@check("answer.accepted", on=EXPECTED_ANSWER)
def valid_request_is_answered(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """A valid request is answered with status 200."""
    if exchange.status != 200 or not exchange.complete:
        yield Finding("/status", "200 and a complete body", shown(exchange))


@check("answer.no-error-inside", on=EXPECTED_ANSWER)
def success_holds_no_error(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """An answer with status 200 does not report an error in its body.

    Clients that trust the status would count the request as served.
    """
    if exchange.status != 200:
        raise NotObserved(f"the status is {exchange.status}")
    if not exchange.is_stream and reports_error(exchange.json):
        yield Finding("/body", "an answer", shown(exchange))


@check("answer.json-content-type", on=PLAIN_ANSWER)
def content_type_is_json(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """A plain answer is sent as application/json."""
    if exchange.content_type != "application/json":
        yield Finding("/headers/content-type", "application/json", exchange.header("content-type") or "no header")


@check("answer.fits-schema", on=PLAIN_ANSWER)
def answer_fits_the_description(exchange: Exchange, context: Context) -> Iterator[Finding]:
    """A plain answer is valid against the description of the dialect."""
    if exchange.json_error:
        yield Finding("/body", "JSON", exchange.json_error)
        return
    for problem in context.validator.problems("ChatCompletion", exchange.json):
        yield Finding(problem.where or "/", f"{problem.keyword} {problem.bound}", problem.message)


@check("answer.utf8", on=PLAIN_ANSWER)
def answer_is_utf8(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """A plain answer is UTF-8 throughout, and no byte order mark comes before it."""
    if exchange.body.startswith(b"\xef\xbb\xbf"):
        yield Finding("/body", "no byte order mark", "EF BB BF")
    if exchange.json_error.startswith("not UTF-8"):
        yield Finding("/body", "UTF-8", exchange.json_error)


@check("answer.json-unambiguous", on=PLAIN_ANSWER)
def answer_names_each_member_once(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """No object of an answer names a member twice, and no text holds half a character: parsers disagree on both."""
    for oddity in exchange.json_oddities:
        yield Finding("/body", "JSON that is read in one way", oddity)


@check("answer.plain-unless-asked", on=EXPECTED_ANSWER)
def answer_is_not_streamed_unasked(exchange: Exchange, context: Context) -> Iterator[Finding]:
    """A request that does not ask for a stream is answered plain."""
    if context.step.streams:
        raise NoOccasion("the request asks for a stream")
    if exchange.status != 200:
        raise NotObserved(f"the status is {exchange.status}")
    if exchange.is_stream:
        yield Finding("/body", "one JSON object", f"{exchange.content_type or 'no content type'}, {shown(exchange)}")


@check("answer.messages-not-deltas", on=PLAIN_ANSWER)
def answer_holds_messages_alone(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """A choice of a plain answer holds what it says in `message`, not in the `delta` or `text` of other interfaces."""
    for index, choice in enumerate(choices_of(exchange)):
        if strange := [name for name in ("delta", "text") if choice.get(name) is not None]:
            yield Finding(f"/choices/{index}", "message alone", ", ".join(strange))


@check("answer.members-known", on=PLAIN_ANSWER)
def answer_has_no_further_members(exchange: Exchange, context: Context) -> Iterator[Finding]:
    """An answer has the members that the description names and no others."""
    if found := unknown_members(context.validator.document, "ChatCompletion", exchange.json):
        yield Finding("/", "members of the description", ", ".join(found))


@check("answer.object-named", on=PLAIN_ANSWER)
def object_is_chat_completion(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """`object` of a plain answer is "chat.completion"."""
    found = envelope(exchange).get("object")
    if found != "chat.completion":
        yield Finding("/object", "chat.completion", repr(found))


@check("answer.id-given", on=PLAIN_ANSWER)
def id_is_a_text(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """`id` of a plain answer is a text that is not empty."""
    found = envelope(exchange).get("id")
    if not isinstance(found, str) or not found:
        yield Finding("/id", "a text", repr(found))


@check("answer.created-now", on=PLAIN_ANSWER)
def created_is_the_time_of_the_answer(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """`created` is the Unix time of the answer in seconds.

    Milliseconds and a constant are the usual mistakes. An hour of difference is allowed: clocks are wrong.
    """
    yield from created_faults("/created", envelope(exchange).get("created"), exchange)


@check("answer.model-echoed", on=PLAIN_ANSWER)
def model_is_the_requested_one(exchange: Exchange, context: Context) -> Iterator[Finding]:
    """`model` of the answer is the model that was asked for."""
    asked = exchange.request_json.get("model", context.model) if isinstance(exchange.request_json, dict) else None
    found = envelope(exchange).get("model")
    if found != asked:
        yield Finding("/model", repr(asked), repr(found))


@check("answer.indices-from-zero", on=PLAIN_ANSWER)
def indices_count_from_zero(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """The choices' indices are 0, 1, ... without a gap."""
    found = [choice.get("index") for choice in choices_of(exchange)]
    if {index for index in found if type(index) is int} != set(range(len(found))):
        yield Finding("/choices/*/index", f"{list(range(len(found)))}", f"{found}")


def asked_choices(exchange: Exchange, context: Context) -> Any:
    """How many choices a request asks for. Raises NoOccasion where best_of may change that: it is noted, not judged."""
    sent: Any = exchange.request_json
    if (told_choices(exchange, context) or 1) != (sent.get("n") or 1):
        raise NoOccasion("how many choices best_of brings is noted and not judged")
    return sent.get("n")


def told_choices(exchange: Exchange, context: Context) -> Any:
    """As many as `n`, or as best_of where the document returns all of them unless a beam search is on."""
    sent: Any = exchange.request_json
    best_of = sent.get("best_of")
    returns_all = context.contract.answer.best_of == "all" and not sent.get("use_beam_search")
    return best_of if returns_all and best_of is not None else sent.get("n")


@check("answer.one-choice-by-default", on=PLAIN_ANSWER)
def one_choice_when_none_is_asked_for(exchange: Exchange, context: Context) -> Iterator[Finding]:
    """There is one choice when `n` is not given or is 1."""
    if isinstance(exchange.request_json, dict) and asked_choices(exchange, context) not in (None, 1):
        raise NoOccasion("the request asks for more choices")
    found = len(choices_of(exchange))
    if found != 1:
        yield Finding("/choices", "1 choice", f"{found} choices")


@check("answer.as-many-choices-as-asked", on=SEVERAL_CHOICES)
def choices_are_as_many_as_asked(exchange: Exchange, context: Context) -> Iterator[Finding]:
    """There are `n` choices when `n` asks for more than one."""
    asked, found = asked_choices(exchange, context), len(choices_of(exchange))
    if found != asked:
        yield Finding("/choices", f"{asked} choices", f"{found} choices")


@check("answer.logprobs-when-asked", on=LOGPROBS)
def logprobs_are_given_when_asked_for(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """Every choice carries log-probabilities when the request asks for them."""
    for index, choice in enumerate(choices_of(exchange)):
        if not isinstance(choice.get("logprobs"), dict):
            yield Finding(f"/choices/{index}/logprobs", "an object", repr(choice.get("logprobs"))[:80])


@check("answer.role-assistant", on=PLAIN_ANSWER)
def role_is_assistant(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """The message's role is "assistant"."""
    for index, choice in enumerate(choices_of(exchange)):
        message = choice.get("message")
        role = message.get("role") if isinstance(message, dict) else None
        if role != "assistant":
            yield Finding(f"/choices/{index}/message/role", "assistant", repr(role))


@check("answer.content-is-text", on=PLAIN_ANSWER)
def content_is_a_text(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """The message's content is a text unless the message calls tools or holds reasoning."""
    for index, choice in enumerate(choices_of(exchange)):
        message = choice.get("message")
        if not isinstance(message, dict):
            yield Finding(f"/choices/{index}/message", "an object", repr(message))
        elif not isinstance(message.get("content"), str) and not (
            message.get("tool_calls") or message.get("reasoning_content") or message.get("reasoning")
        ):
            yield Finding(f"/choices/{index}/message/content", "a text", repr(message.get("content")))


@check("answer.tool-calls-well-formed", on=PLAIN_ANSWER)
def tool_calls_are_well_formed(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """Tool calls, if any, have an id, the type "function", a name, and arguments that are JSON text.

    Absent, null and an empty list all mean that no tool is called. Arguments that the limit cut off need not be whole.
    """
    for index, choice in enumerate(choices_of(exchange)):
        message = choice.get("message")
        calls = message.get("tool_calls") if isinstance(message, dict) else None
        where = f"/choices/{index}/message/tool_calls"
        if calls is None:
            continue
        if not isinstance(calls, list):
            yield Finding(where, "a list or null", repr(calls)[:80])
            continue
        for at, call in enumerate(calls):
            yield from _call_faults(call, f"{where}/{at}", cut=choice.get("finish_reason") == "length")


def _call_faults(call: object, where: str, *, cut: bool) -> Iterator[Finding]:
    function = call.get("function") if isinstance(call, dict) else None
    if not isinstance(call, dict) or not isinstance(function, dict):
        yield Finding(where, "an object with function", repr(call)[:80])
        return
    if not isinstance(call.get("id"), str) or not call["id"]:
        yield Finding(f"{where}/id", "a text", repr(call.get("id")))
    if call.get("type") != "function":
        yield Finding(f"{where}/type", "function", repr(call.get("type")))
    if not isinstance(function.get("name"), str) or not function["name"]:
        yield Finding(f"{where}/function/name", "a text", repr(function.get("name")))
    arguments = function.get("arguments")
    if not isinstance(arguments, str) or (read_json(arguments).error and not cut):
        yield Finding(f"{where}/function/arguments", "JSON as text", repr(arguments)[:80])


@check("answer.usage-present", on=PLAIN_ANSWER)
def usage_is_given(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """A plain answer says how many tokens it took."""
    found = envelope(exchange).get("usage")
    if not isinstance(found, dict):
        yield Finding("/usage", "an object", repr(found))


@check("answer.timings-non-negative", on=PLAIN_ANSWER)
def timings_are_not_negative(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """Measured times and batch sizes, where given, are numbers that are not negative."""
    answer = envelope(exchange)
    usage = answer.get("usage")
    usage = usage if isinstance(usage, dict) else {}
    for holder, place, name, many in (
        (answer, "", "prefill_time", False),
        (answer, "", "decode_time_arr", True),
        (usage, "/usage", "batch_size", True),
        (usage, "/usage", "queue_wait_time", True),
    ):
        if name not in holder or holder[name] is None:
            continue
        values = holder[name] if many else [holder[name]]
        if not isinstance(values, list) or not all(_is_measure(value) for value in values):
            yield Finding(f"{place}/{name}", "numbers, none negative", repr(holder[name])[:80])


def _is_measure(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and value >= 0


@check("answer.text-well-encoded", on=greedy(written(PLAIN_ANSWER)))
def text_holds_no_replacement_character(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """The text holds no U+FFFD, which stands where a character was cut."""
    for index, folded in exchange.choices.items():
        if "\ufffd" in folded.content:
            yield Finding(f"/choices/{index}/message/content", "whole characters", repr(folded.content)[:80])
