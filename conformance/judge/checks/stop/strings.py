"""Checks of stop strings: where they end the answer, and what they leave out of it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from conformance.check import Applicability, Context, Finding, NotExercised, NotObserved, check, relation
from conformance.judge.applicability import ANSWER, at_temperature_0, not_generated, why_unanswered

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from conformance.exchange import Exchange

NOT_REPEATED = "greedy answers of this server do not repeat"
SPECIAL = re.compile(
    r"<[|\uff5c][^<>\s]{1,40}[|\uff5c]>|^[a-z_]*[|\uff5c]>|(?<![a-z_])[a-z_]+\|>$"  # <|im_end|> and parts of it
    r"|</?s>|<(?:eos|bos|pad|unk|start_of_turn|end_of_turn)>|\[/?INST\]|<</?SYS>>"
)


def _stop_of(exchange: Exchange) -> str:
    """Return the stop string of the request. Raises NotObserved if `stop` is not a string."""
    sent: Any = exchange.request_json
    stop = sent.get("stop") if isinstance(sent, dict) else None
    if not isinstance(stop, str):
        raise NotObserved("the request has no stop string")
    return stop


def _up_to(whole: str, stop: str, *, included: bool) -> str:
    """Return the text up to the stop string, including it or not."""
    return whole[: whole.find(stop) + (len(stop) if included else 0)]


def _repeats(whole: str, text: str, expected: str) -> bool:
    """Tell whether a stopped answer follows the unstopped one, so that a difference results from the stop string."""
    return whole.startswith(text) or text.startswith(expected)


def is_left_out(exchange: Exchange, context: Context) -> bool:
    """Return whether the dialect leaves the stop string out of this answer."""
    return not (exchange.is_stream and context.contract.stream.stop_text == "included")


STOPPED = Applicability(
    lambda scenario, step, contract: (
        not_generated(ANSWER).applies_to(scenario, step, contract)
        and bool(step.stop_from or (step.body or {}).get("stop"))
        and not (step.body or {}).get("include_stop_str_in_output")
    ),
    why_unanswered,
)


@check("stop.not-in-output", on=STOPPED)
def stop_text_is_left_out(exchange: Exchange, context: Context) -> Iterator[Finding]:
    """A stop string is not part of the answer unless the request asks for it.

    This holds for every choice, with or without log-probabilities, plain or streamed. Not judged next to min_tokens,
    because no stop string ends an answer before that.
    """
    if not is_left_out(exchange, context):
        raise NotExercised("streams of this dialect include the stop string")
    if exchange.request_json.get("min_tokens"):
        raise NotExercised("a stop string may come before min_tokens")
    stop: Any = exchange.request_json["stop"]
    for index, choice in exchange.choices.items():
        stops = [stop] if isinstance(stop, str) else stop
        found = next((item for item in stops if item in choice.content), None)
        if found is not None:
            yield Finding(f"/choices/{index}/message/content", f"no {found!r}", repr(choice.content)[:200])


@relation("stop.cut-where-it-starts", over=("baseline", "stopped", "stopped-streamed"), unmet=why_unanswered)
def answer_is_cut_where_the_stop_text_starts(exchanges: Mapping[str, Exchange], context: Context) -> Iterator[Finding]:
    """The stopped answer is the unstopped one up to the stop string: no part of it leaks, and nothing in front of it is
    lost.

    The stop string is taken from the middle of the unstopped greedy answer, so it begins and ends within tokens.
    """
    whole = exchanges["baseline"].content() or ""
    findings: list[Finding] = []
    diverged: list[Finding] = []
    for name in ("stopped", "stopped-streamed"):
        stop, text = _stop_of(exchanges[name]), exchanges[name].content() or ""
        expected = _up_to(whole, stop, included=not is_left_out(exchanges[name], context))
        if text != expected:
            finding = Finding(f"/{name}/choices/0/message/content", repr(expected)[:200], repr(text)[:200])
            (findings if _repeats(whole, text, expected) else diverged).append(finding)
    if diverged and not findings:
        raise NotExercised(NOT_REPEATED)
    yield from findings


def check_stopped(whole: Exchange, stopped: Exchange, context: Context, name: str) -> Iterator[Finding]:
    """Yield a finding unless an answer is the unstopped one up to its stop string.

    Raises NotExercised if greedy answers do not repeat, or if the stop string may occur in reasoning.
    """
    if any(choice.reasoning for exchange in (whole, stopped) for choice in exchange.choices.values()):
        raise NotExercised("a stop string may occur in the reasoning")
    expected = _up_to(whole.content() or "", _stop_of(stopped), included=not is_left_out(stopped, context))
    yield from _check_text(whole.content() or "", stopped.content() or "", expected, f"/{name}")


@relation("stop.included-on-request", over=("baseline", "included"), unmet=why_unanswered)
def stop_text_is_included_on_request(exchanges: Mapping[str, Exchange], _: Context) -> Iterator[Finding]:
    """With include_stop_str_in_output the answer ends with the stop string."""
    yield from _check_included(exchanges["baseline"], exchanges["included"])


@relation("stop.included-when-streaming", over=("baseline", "stopped-streamed"), unmet=why_unanswered)
def stop_text_is_included_when_streaming(exchanges: Mapping[str, Exchange], _: Context) -> Iterator[Finding]:
    """A streamed answer ends with the stop string by default, as this dialect documents."""
    yield from _check_included(exchanges["baseline"], exchanges["stopped-streamed"])


def _check_included(baseline: Exchange, stopped: Exchange) -> Iterator[Finding]:
    """Yield a finding unless the stopped answer ends with its stop string, the last one if there are several."""
    sent: Any = stopped.request_json
    stop = sent["stop"][-1] if isinstance(sent.get("stop"), list) else _stop_of(stopped)
    text, whole = stopped.content() or "", baseline.content() or ""
    if not text.endswith(stop):
        if not _repeats(whole, text, _up_to(whole, stop, included=False)):
            raise NotExercised(NOT_REPEATED)
        yield Finding("/choices/0/message/content", f"an end with {stop!r}", repr(text)[-200:])


@relation("stop.earliest-wins", over=("baseline", "beside"), unmet=why_unanswered)
def earliest_of_several_stop_texts_wins(exchanges: Mapping[str, Exchange], _: Context) -> Iterator[Finding]:
    """Of several stop strings the one that occurs first in the answer ends it, whatever its position in the list is."""
    whole, text = (exchanges[name].content() or "" for name in ("baseline", "beside"))
    stops = exchanges["beside"].request_json["stop"]
    starts = [whole.find(stop) for stop in stops if stop in whole]
    if not starts:
        raise NotExercised(NOT_REPEATED)
    yield from _check_text(whole, text, whole[: min(starts)], "/beside")


@relation("stop.list-heeded-in-streams", over=("baseline", "beside", "beside-streamed"), unmet=why_unanswered)
def a_list_of_stop_texts_is_heeded_in_streams(exchanges: Mapping[str, Exchange], context: Context) -> Iterator[Finding]:
    """A list of stop strings ends a stream where it ends the plain answer, although only its last string occurs."""
    whole, plain, text = (exchanges[name].content() or "" for name in ("baseline", "beside", "beside-streamed"))
    stops = exchanges["beside-streamed"].request_json["stop"]
    occurrences = [(whole.find(stop), stop) for stop in stops if stop in whole]
    if not occurrences or plain != whole[: min(occurrences)[0]]:
        raise NotExercised(NOT_REPEATED)
    expected = _up_to(whole, min(occurrences)[1], included=not is_left_out(exchanges["beside-streamed"], context))
    yield from _check_text(whole, text, expected, "/beside-streamed")


@relation("stop.listed-as-alone", over=("baseline", "stopped", "listed"), unmet=why_unanswered)
def a_list_of_one_stop_text_is_the_text(exchanges: Mapping[str, Exchange], _: Context) -> Iterator[Finding]:
    """A list with one stop string ends the answer where the string alone does."""
    whole, alone, listed = (exchanges[name].content() or "" for name in ("baseline", "stopped", "listed"))
    if not whole.startswith(alone):
        raise NotExercised(NOT_REPEATED)
    yield from _check_text(whole, listed, alone, "/listed")


@relation("stop.at-the-start", over=("baseline", "at-once"), unmet=why_unanswered)
def a_stop_text_at_the_start_leaves_nothing(exchanges: Mapping[str, Exchange], _: Context) -> Iterator[Finding]:
    """A stop string with which the answer begins leaves an empty answer that ends with "stop"."""
    whole, text = (exchanges[name].content() or "" for name in ("baseline", "at-once"))
    yield from _check_text(whole, text, "", "/at-once")
    found = exchanges["at-once"].finish_reason()
    if not text and found != "stop":
        yield Finding("/at-once/choices/0/finish_reason", "stop", repr(found))


@relation("stop.unfinished-changes-nothing", over=("baseline", "unfinished"), unmet=why_unanswered)
def an_unfinished_stop_text_changes_nothing(exchanges: Mapping[str, Exchange], _: Context) -> Iterator[Finding]:
    """An answer in which only the beginning of a stop string occurs continues after it, and nothing is lost.

    Servers hold back text that may become a stop string, and have to send it if it does not.
    """
    yield from _check_unchanged(exchanges, "unfinished")


@relation("stop.unfinished-is-streamed", over=("baseline", "unfinished-streamed"), unmet=why_unanswered)
def an_unfinished_stop_text_is_streamed(exchanges: Mapping[str, Exchange], _: Context) -> Iterator[Finding]:
    """A stream in which only the beginning of a stop string occurs continues after it, and nothing is lost."""
    yield from _check_unchanged(exchanges, "unfinished-streamed")


@relation("stop.held-back-is-sent", over=("baseline", "held-to-the-end"), unmet=why_unanswered)
def text_held_back_to_the_end_is_sent(exchanges: Mapping[str, Exchange], _: Context) -> Iterator[Finding]:
    """A stream that ends with the beginning of a stop string includes that text.

    Text that is held back because it may become a stop string has to be sent when the answer ends for another reason.
    """
    yield from _check_unchanged(exchanges, "held-to-the-end")


@relation("stop.included-when-streamed-too", over=("baseline", "included-streamed"), unmet=why_unanswered)
def stop_text_is_included_in_streams_on_request(exchanges: Mapping[str, Exchange], _: Context) -> Iterator[Finding]:
    """With include_stop_str_in_output a streamed answer ends with the stop string, too."""
    yield from _check_included(exchanges["baseline"], exchanges["included-streamed"])


@relation("stop.forgotten-afterwards", over=("prose", "halted-prose", "prose-again"), unmet=why_unanswered)
def stop_text_is_forgotten_afterwards(exchanges: Mapping[str, Exchange], _: Context) -> Iterator[Finding]:
    """A stop string ends the answer to its own request only, not to the next request on the same connection.

    Reported if the next answer ends exactly where the stop string of the previous request occurs.
    """
    yield from _check_not_ended(_stop_of(exchanges["halted-prose"]), exchanges["prose"], exchanges["prose-again"])


@relation("stop.case-matters", over=("prose", "other-case"), unmet=why_unanswered)
def case_of_a_stop_text_matters(exchanges: Mapping[str, Exchange], _: Context) -> Iterator[Finding]:
    """A stop string that occurs in the answer only in another case does not end it: `the` does not match `THE`.

    Reported if the answer ends exactly where the string occurs in another case.
    """
    yield from _check_not_ended(
        _stop_of(exchanges["other-case"]).swapcase(), exchanges["prose"], exchanges["other-case"]
    )


def _check_not_ended(stop: str, prose: Exchange, again: Exchange) -> Iterator[Finding]:
    """Yield a finding if the second answer ends where a string occurs that is not its stop string."""
    whole, text = prose.content() or "", again.content() or ""
    ends = [_up_to(whole, stop, included=included) for included in (False, True)]
    if text != whole and text.rstrip() in {end.rstrip() for end in ends}:
        yield Finding(f"/{again.step}/choices/0/message/content", repr(whole)[:200], repr(text)[:200])


def _check_unchanged(exchanges: Mapping[str, Exchange], name: str) -> Iterator[Finding]:
    """Yield a finding if a piece of the unstopped answer is missing from the answer to a step."""
    whole, text = (exchanges[step].content() or "" for step in ("baseline", name))
    if text == whole:
        return
    if not _lacks_a_piece(whole, text):
        raise NotExercised(NOT_REPEATED)
    yield Finding(f"/{name}/choices/0/message/content", repr(whole)[:200], repr(text)[:200])


def _lacks_a_piece(whole: str, text: str) -> bool:
    """Tell whether the text is the whole one with one piece missing, at its end or within."""
    start, end = _common_length(whole, text), _common_length(whole[::-1], text[::-1])
    return len(text) < len(whole) and start + end >= len(text)


def _common_length(first: str, second: str) -> int:
    """Return how many characters both strings have in common at their beginning."""
    pairs = zip(first, second, strict=False)
    return next((at for at, (one, other) in enumerate(pairs) if one != other), min(len(first), len(second)))


def _check_text(whole: str, text: str, expected: str, path: str) -> Iterator[Finding]:
    """Yield a finding unless the answer is the expected one. Raises NotExercised if it diverges
    from the unstopped one.
    """
    if text != expected:
        if not _repeats(whole, text, expected):
            raise NotExercised(NOT_REPEATED)
        yield Finding(f"{path}/choices/0/message/content", repr(expected)[:200], repr(text)[:200])


@relation("stop.token-ids-left-out", over=("base", "halted-at-once", "halted-at-once-streamed"))
def stop_tokens_are_left_out(exchanges: Mapping[str, Exchange], _: Context) -> Iterator[Finding]:
    """A token of stop_token_ids that ends an answer is not part of it, streamed or plain.

    The ids of the model's tokens are unknown here, but an answer of one token that ends with "stop" was ended by that
    token.
    """
    reasons: list[str] = []
    for name in ("halted-at-once", "halted-at-once-streamed"):
        halted = exchanges[name]
        if halted.status is not None and 400 <= halted.status < 500:
            reasons.append("the list of tokens is refused")
        elif reason := why_unanswered(halted):
            raise NotObserved(reason)
        elif halted.finish_reason() != "stop":
            reasons.append("the first token did not end the answer")
        elif text := halted.content():
            yield Finding(f"/{name}/choices/0/message/content", "an empty text", repr(text)[:200])
    if len(reasons) > 1:
        raise NotExercised(reasons[0])


@check("stop.no-special-tokens", on=at_temperature_0(not_generated(ANSWER)))
def special_tokens_do_not_leak(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """No special token of a chat template is in the text, whole or in part, unless the request asks for it."""
    sent: Any = exchange.request_json
    if not isinstance(sent, dict) or sent.get("skip_special_tokens") is False or sent.get("ignore_eos"):
        raise NotExercised("the request asks for special tokens, or for text beyond the end")
    for index, choice in exchange.choices.items():
        sent_text = exchange.request.body.decode(errors="replace")
        if any(token.group() not in sent_text for token in SPECIAL.finditer(choice.content.strip())):
            yield Finding(f"/choices/{index}/message/content", "no special token", repr(choice.content)[-200:])
