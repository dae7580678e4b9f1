"""Refusals, looked at closely: whose envelope it is, what stands in it, and that all of a server are alike."""

from __future__ import annotations

from typing import TYPE_CHECKING

from conformance.check import Context, Finding, NoOccasion, NotObserved, check, relation
from conformance.judge.applicability import REFUSAL, REFUSAL_OF_VALUE, scenario, shown
from conformance.judge.checks.parameters import refused
from conformance.judge.error_envelope import envelope_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from conformance.exchange import Exchange

LONGEST = 16_384  # bytes; one that is longer repeats the request
HTTP_CODES = range(100, 600)


def _refusal(exchange: Exchange) -> str | None:
    taken = exchange.status is None or not 400 <= exchange.status < 600
    return f"{exchange.id} was not refused ({shown(exchange)})" if taken else None


@check("errors.envelope-known", on=REFUSAL)
def envelope_is_of_a_known_form(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """A refusal has an envelope that clients know: one of those that servers of this kind have in use."""
    found = envelope_of(exchange)
    if found.form is None:
        yield Finding("/body", "an envelope of a known form", f"{found.name}: {shown(exchange)}")


@check("errors.message-given", on=REFUSAL)
def message_says_something(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """The message of a refusal says something."""
    found = envelope_of(exchange)
    if found.form is None:
        raise NoOccasion(f"the body is {found.name}")
    if not any(character.isalpha() for character in str(found.message or "")):
        yield Finding(f"/{found.form.message.replace('.', '/')}", "words", repr(found.message))


@check("errors.code-is-status", on=REFUSAL)
def code_repeats_the_status(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """A code or status in the envelope, where it is a number of HTTP, is the status of the answer."""
    found = envelope_of(exchange)
    codes = {name: found.member(name) for name in ("code", "status", "status_code")}
    numbers = {name: code for name, code in codes.items() if type(code) is int and code in HTTP_CODES}
    if not numbers:
        raise NoOccasion("the envelope has no code of HTTP")
    for name, code in numbers.items():
        if code != exchange.status:
            yield Finding(f"/{name}", f"{exchange.status}, as the status", f"{code}")


@check("errors.param-is-the-parameter", on=REFUSAL_OF_VALUE)
def param_names_what_was_wrong(exchange: Exchange, context: Context) -> Iterator[Finding]:
    """`param` of a refusal, where it is not null, names the parameter whose value was refused."""
    subject, param = context.scenario.subject, envelope_of(exchange).member("param")
    if subject is None or subject.check != "parameters.invalid-refused" or not isinstance(param, str) or not param:
        raise NoOccasion("the refusal names no param")
    if subject.parameter not in param.replace("[", ".").replace("/", ".").replace("]", "").split("."):
        yield Finding("/error/param", subject.parameter, param)


@check("errors.refusal-is-short", on=REFUSAL)
def refusal_does_not_repeat_the_request(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """A refusal is short: it does not send a long request back."""
    if len(exchange.body) > LONGEST:
        yield Finding("/body", f"at most {LONGEST} bytes", f"{len(exchange.body)} bytes")


@check("errors.lenient-json-refused", on=scenario("lenient-*"))
def text_that_is_almost_json_is_refused(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """A body that only lenient parsers read is refused: NaN, comments, single quotes, a comma too many.

    The next server behind the same address may read it otherwise or not at all.
    """
    if not refused(exchange):
        yield Finding("/status", "4xx", shown(exchange))


@check("errors.hostile-body-survived", on=scenario("hostile-*"))
def hostile_body_is_answered_or_refused(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """A body that is strange or hostile is answered or refused as the client's fault: no crash, no silence.

    Half characters, NUL, duplicate members, a byte order mark, thousands of levels, numbers beyond a double, many
    blanks, a type that is not JSON's.
    """
    if exchange.status is None or exchange.status >= 500 or not exchange.complete:
        yield Finding("/status", "an answer or 4xx", shown(exchange))


@relation("errors.streamed-as-plain", over=("refused-plain", "refused-streamed"), lacks=_refusal)
def streamed_request_gets_the_same_status(exchanges: Mapping[str, Exchange], _: Context) -> Iterator[Finding]:
    """The same bad request gets the same status, whether it asks for a stream or not."""
    plain, streamed = (exchanges[name].status for name in ("refused-plain", "refused-streamed"))
    if plain != streamed:
        yield Finding("/status", f"{plain}, as for the plain request", f"{streamed}")


@relation("errors.envelopes-alike", over=("bad-json", "bad-value", "bad-model", "bad-object"), lacks=_refusal)
def refusals_have_one_form(exchanges: Mapping[str, Exchange], _: Context) -> Iterator[Finding]:
    """All refusals of a server have one form, whatever was wrong: clients read one form only."""
    forms = {name: envelope_of(exchange).name for name, exchange in exchanges.items()}
    if len(set(forms.values())) > 1:
        yield Finding("/body", "one form", ", ".join(f"{name}: {form}" for name, form in forms.items()))


@relation("errors.refusal-repeats", over=("bad-again-1", "bad-again-2"), lacks=lambda _: None)
def bad_request_is_refused_again(exchanges: Mapping[str, Exchange], _: Context) -> Iterator[Finding]:
    """A bad request that is sent again is refused again with the same status: a refusal leaves nothing behind."""
    first, second = (exchanges[name] for name in ("bad-again-1", "bad-again-2"))
    if first.status is None:
        raise NotObserved(shown(first))
    if first.status != second.status:
        yield Finding("/status", f"{first.status}, as at first", shown(second))
