"""Checks of API keys: no request is answered without a valid one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from conformance.check import Context, Finding, NotExercised, NotObserved, check, relation, series
from conformance.judge.acceptance import is_refused, key_error_codes, reports_key_error
from conformance.judge.applicability import in_scenario, summarize, why_unanswered

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from conformance.exchange import Exchange

UNAUTHORIZED, FORBIDDEN = 401, 403
ALTERED = ("other-end", "shorter", "longer", "missing")
REPEATED: Final = ("missing", "wrong")
MIN_KEY_LENGTH = 12  # characters; a shorter key may occur in a body by chance


@check("auth.key-demanded", on=in_scenario("key-missing"))
def missing_key_is_refused(exchange: Exchange, context: Context) -> Iterator[Finding]:
    """A request without a key is refused."""
    if not is_refused(exchange, context.contract):
        yield Finding("/headers/authorization", "refused without a key", summarize(exchange))


@check("auth.wrong-key-refused", on=in_scenario("key-wrong*"))
def wrong_key_is_refused(exchange: Exchange, context: Context) -> Iterator[Finding]:
    """A request with a wrong key, or with a key that is not a bearer token, is refused."""
    if not is_refused(exchange, context.contract):
        yield Finding("/headers/authorization", "refused with a wrong key", summarize(exchange))


@check("auth.refused-when-streaming", on=in_scenario("key-missing-streamed"))
def missing_key_is_refused_when_streaming(exchange: Exchange, context: Context) -> Iterator[Finding]:
    """A streamed request without a key is refused before any event."""
    if not is_refused(exchange, context.contract):
        yield Finding("/headers/authorization", "refused without a key", summarize(exchange))


@check("auth.refusal-code", on=in_scenario("key-*", refused=True))
def refusal_carries_a_documented_code(exchange: Exchange, context: Context) -> Iterator[Finding]:
    """The refusal of a key has a code that the dialect's error table lists for keys."""
    if None in key_error_codes(context.contract):
        raise NotExercised("the dialect's error table lists no code for a missing or wrong key")
    if not reports_key_error(exchange, context.contract):
        yield Finding("/code", "a code that the dialect's error table lists for keys", summarize(exchange))


@check("auth.refused-before-validation", on=in_scenario("key-missing-invalid"))
def key_is_asked_for_first(exchange: Exchange, context: Context) -> Iterator[Finding]:
    """An invalid request without a key is refused because of the key, so that outsiders learn nothing about the
    parameters.
    """
    if exchange.status is None:
        raise NotObserved(summarize(exchange))
    if exchange.status not in (401, 403) and not reports_key_error(exchange, context.contract):
        yield Finding("/status", "401", summarize(exchange))


@check("auth.challenge-given", on=in_scenario("key-*", refused=True))
def challenge_comes_with_401(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """A 401 states in WWW-Authenticate how to authenticate."""
    if exchange.status != UNAUTHORIZED:
        raise NotExercised(f"the status is {exchange.status}")
    if not (exchange.header("www-authenticate") or "").strip():
        yield Finding("/headers/www-authenticate", "Bearer", "no header")


@check("auth.status-is-401", on=in_scenario("key-*", refused=True))
def key_is_refused_with_its_own_status(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """A missing or wrong key is refused with 401 or 403, so that clients ask for another key instead of retrying."""
    if exchange.status not in (UNAUTHORIZED, FORBIDDEN):
        yield Finding("/status", "401", summarize(exchange))


@check("auth.key-not-repeated", on=in_scenario("key-wrong*", refused=True))
def wrong_key_is_not_sent_back(exchange: Exchange, context: Context) -> Iterator[Finding]:
    """A refusal does not repeat the key: refusals are logged, and a key that is wrong here is often valid elsewhere.

    Only a key that the scenario itself sends counts. A header that the user adds for a gateway is not a key of the
    server, whatever its name is.
    """
    own = {"authorization"} | ({"x-api-key"} & {name.lower() for name in context.step.headers})
    sent = [value for name, value in exchange.request.headers if name.lower() in own]
    keys = [key for value in sent if len(key := value.rpartition(" ")[2]) >= MIN_KEY_LENGTH]
    if not keys:
        raise NotExercised("the request has no key")
    if any(key in exchange.text for key in keys):
        yield Finding("/body", "no key", "the key of the request")


@check("auth.scheme-in-any-case", on=in_scenario("key-lower-case"))
def scheme_is_read_in_any_case(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """The right key is accepted with `bearer` in lower case: the names of schemes are case-insensitive."""
    if reason := why_unanswered(exchange):
        yield Finding("/headers/authorization", "200", reason)


@relation("auth.whole-key-compared", over=("right", *ALTERED))
def keys_are_compared_whole(exchanges: Mapping[str, Exchange], context: Context) -> Iterator[Finding]:
    """A key that only begins like the right one is refused on the connection on which the right one was sent: with a
    different end, without its end, or with more at its end. So is a request without a key.

    Four characters are changed, because two keys in base64 that differ only in the last character may encode the same
    bytes.
    """
    if reason := why_unanswered(exchanges["right"]):
        raise NotObserved(reason)
    for name in ALTERED:
        if not is_refused(exchanges[name], context.contract):
            yield Finding(f"/{name}/headers/authorization", "refused with a wrong key", summarize(exchanges[name]))


@series("auth.answers-not-reused", scenario="key-after-answers")
def known_answers_need_a_key(exchanges: Mapping[str, Exchange], context: Context) -> Iterator[Finding]:
    """A request that was answered with the right key is refused without it, and with a wrong one: an answer from a
    cache needs a key as well.
    """
    answered = [name for name in ("right", "right-streamed") if name in exchanges]
    for name in answered:
        if reason := why_unanswered(exchanges[name]):
            raise NotObserved(reason)
        for other in REPEATED:
            repeated = name.replace("right", other)
            if repeated in exchanges and not is_refused(exchanges[repeated], context.contract):
                yield Finding(
                    f"/{repeated}/headers/authorization", "refused without the key", summarize(exchanges[repeated])
                )
