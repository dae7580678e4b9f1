"""Keys: nothing is answered without one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from conformance.check import Context, Finding, NoOccasion, NotObserved, check, relation
from conformance.judge.acceptance import refused
from conformance.judge.applicability import refuses_key, scenario, shown, unsuccessful

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from conformance.exchange import Exchange

UNAUTHORIZED, FORBIDDEN = 401, 403
ALTERED = ("other-end", "shorter", "longer")
TELLING = 12  # characters of a key: shorter ones may stand in a text by chance


@check("auth.key-demanded", on=scenario("key-missing"))
def missing_key_is_refused(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """A request without a key is refused."""
    if not refused(exchange):
        yield Finding("/headers/authorization", "refused without a key", shown(exchange))


@check("auth.wrong-key-refused", on=scenario("key-wrong*"))
def wrong_key_is_refused(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """A request with a wrong key, or with a key that is not a bearer token, is refused."""
    if not refused(exchange):
        yield Finding("/headers/authorization", "refused with a wrong key", shown(exchange))


@check("auth.refused-when-streaming", on=scenario("key-missing-streamed"))
def missing_key_is_refused_when_streaming(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """A streamed request without a key is refused before any event."""
    if not refused(exchange):
        yield Finding("/headers/authorization", "refused without a key", shown(exchange))


@check("auth.refusal-code", on=scenario("key-*", refused=True))
def refusal_carries_a_documented_code(exchange: Exchange, context: Context) -> Iterator[Finding]:
    """The refusal of a key carries a code that the error table has for keys."""
    if not refuses_key(exchange, context.contract):
        yield Finding("/code", "a code for keys of the dialect's error table", shown(exchange))


@check("auth.refused-before-validation", on=scenario("key-missing-invalid"))
def key_is_asked_for_first(exchange: Exchange, context: Context) -> Iterator[Finding]:
    """Without a key a bad request is refused for the key, so that strangers learn nothing about the parameters."""
    if exchange.status is None:
        raise NotObserved(shown(exchange))
    if exchange.status not in (401, 403) and not refuses_key(exchange, context.contract):
        yield Finding("/status", "401", shown(exchange))


@check("auth.challenge-given", on=scenario("key-*", refused=True))
def challenge_comes_with_401(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """A 401 says in WWW-Authenticate how to sign in."""
    if exchange.status != UNAUTHORIZED:
        raise NoOccasion(f"the status is {exchange.status}")
    if not (exchange.header("www-authenticate") or "").strip():
        yield Finding("/headers/www-authenticate", "Bearer", "no header")


@check("auth.status-is-401", on=scenario("key-*", refused=True))
def key_is_refused_with_its_own_status(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """A missing or wrong key is refused with 401 (or 403): clients ask for another key, and do not try again."""
    if exchange.status not in (UNAUTHORIZED, FORBIDDEN):
        yield Finding("/status", "401", shown(exchange))


@check("auth.key-not-repeated", on=scenario("key-wrong*", refused=True))
def wrong_key_is_not_sent_back(exchange: Exchange, context: Context) -> Iterator[Finding]:
    """A refusal does not repeat the key: refusals are logged, and a wrong key is often a right one elsewhere.

    What the user adds for a gateway is no key of the server, whatever its name: only a key that the scenario itself
    sends counts.
    """
    own = {"authorization"} | ({"x-api-key"} & {name.lower() for name in context.step.headers})
    sent = [value for name, value in exchange.request.headers if name.lower() in own]
    keys = [key for value in sent if len(key := value.rpartition(" ")[2]) >= TELLING]
    if not keys:
        raise NoOccasion("the request holds no key")
    if any(key in exchange.text for key in keys):
        yield Finding("/body", "no key", "the key that was sent")


@check("auth.scheme-in-any-case", on=scenario("key-lower-case"))
def scheme_is_read_in_any_case(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """The right key is taken behind `bearer` in small letters: schemes have no case."""
    if lack := unsuccessful(exchange):
        yield Finding("/headers/authorization", "200", lack)


@relation("auth.whole-key-compared", over=("right", *ALTERED), lacks=lambda _: None)
def keys_are_compared_whole(exchanges: Mapping[str, Exchange], _: Context) -> Iterator[Finding]:
    """A key that only begins like the right one is refused: with another end, without its end, or with more behind it.

    Four characters are changed, for the last one of a key in base64 may be another and stand for the same bytes.
    """
    if lack := unsuccessful(exchanges["right"]):
        raise NotObserved(lack)
    for name in ALTERED:
        if not refused(exchanges[name]):
            yield Finding(f"/{name}/headers/authorization", "refused with a wrong key", shown(exchanges[name]))
