"""TODO."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING

from conformance.check import Context, Finding, NoOccasion, check, relation
from conformance.judge.applicability import ANYTHING, CHAT, RESPONSE, unsuccessful

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from conformance.exchange import Exchange, Failure

DATE_SKEW = timedelta(hours=1)  # clocks of servers are wrong, but not by more

SINGLE = (  # fields that hold one value: sent twice, each reader takes another
    *("age", "content-length", "content-type", "date", "etag", "expires", "last-modified", "location", "retry-after"),
    *("server", "access-control-allow-origin"),
)

CLOSED = ("without sending", "disconnected")

UTF8 = ("utf-8", "utf8", "us-ascii")


def _is_broken(failure: Failure) -> bool:
    """Whether the server closed the connection before its time; httpx reports some of that as a breach of HTTP."""
    return failure.kind in ("connect", "reset") or any(word in failure.detail for word in CLOSED)


@check("http.connection-unbroken", on=ANYTHING)
def connection_is_not_broken(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """Every request gets its answer to the end: the server breaks no connection, whatever it is sent."""
    if exchange.failure is not None and _is_broken(exchange.failure):
        yield Finding("/connection", "a complete answer", exchange.failure.detail)


@check("http.message-legal", on=ANYTHING)
def message_is_legal(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """Every answer is a legal HTTP message: status line, fields, lengths and chunks."""
    failure = exchange.failure
    if failure is not None and failure.kind == "protocol" and not _is_broken(failure):
        yield Finding("/message", "an answer by RFC 9112", failure.detail)


@check("http.content-type-given", on=RESPONSE)
def body_says_what_it_is(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """An answer with a body says its content type."""
    if not exchange.body:
        raise NoOccasion("there is no body")
    if not exchange.content_type:
        yield Finding("/headers/content-type", "a media type", exchange.header("content-type") or "no header")


@check("http.charset-is-utf8", on=RESPONSE)
def charset_is_utf8(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """The charset of a content type, where there is one, is UTF-8: JSON and event streams have no other."""
    for parameter in (exchange.header("content-type") or "").split(";")[1:]:
        name, _equals, value = parameter.partition("=")
        charset = value.strip().strip('"').lower()
        if name.strip().lower() == "charset" and charset not in UTF8:
            yield Finding("/headers/content-type", "charset=utf-8", charset)


@check("http.single-fields-once", on=RESPONSE)
def single_field_is_sent_once(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """A header field that holds one value is sent once."""
    headers = exchange.response.headers if exchange.response is not None else ()
    names = [name.lower() for name, _value in headers]
    for name in SINGLE:
        if names.count(name) > 1:
            yield Finding(f"/headers/{name}", "once", f"{names.count(name)} times: {exchange.header(name)}")


@check("http.date-is-now", on=RESPONSE)
def date_is_the_time_of_the_answer(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """An answer carries its date, the time at which it was made, an hour more or less."""
    found = exchange.header("date")
    sent = datetime.fromisoformat(exchange.started_at)
    try:
        made = parsedate_to_datetime(found or "")
    except ValueError:
        yield Finding("/headers/date", "a date", found or "no header")
        return
    if abs((made if made.tzinfo else made.replace(tzinfo=UTC)) - sent) > DATE_SKEW:
        yield Finding("/headers/date", f"{sent:%a, %d %b %Y %H:%M} UTC, an hour more or less", found or "")


@check("http.answers-not-shared", on=CHAT)
def answer_is_kept_by_no_cache(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """No answer to a chat says that caches may keep it and give it to others."""
    found = exchange.header("cache-control") or ""
    for word in found.split(","):
        name, _equals, value = word.strip().lower().partition("=")
        if name == "public" or (name in ("max-age", "s-maxage") and value.strip('"') not in ("", "0")):
            yield Finding("/headers/cache-control", "nothing that lets caches keep it", found)
            return


@check("http.encoding-as-asked", on=RESPONSE)
def body_is_not_encoded(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """A body is not compressed where the request takes `identity` alone."""
    found = exchange.header("content-encoding")
    if found is not None and found.strip().lower() not in ("", "identity"):
        yield Finding("/headers/content-encoding", "no header", found)


@check("http.connection-kept-open", on=CHAT)
def connection_is_kept_open(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """The connection stays open after an answer, so that the next request need not open another."""
    found = exchange.header("connection") or ""
    if "close" in [word.strip().lower() for word in found.split(",")]:
        yield Finding("/headers/connection", "keep-alive", found)


@relation("http.answers-differ-in-id", over=("plain", "plain-again"), lacks=unsuccessful)
def answers_have_ids_of_their_own(exchanges: Mapping[str, Exchange], _: Context) -> Iterator[Finding]:
    """Two answers have two ids."""
    bodies = [exchanges[name].json for name in ("plain", "plain-again")]
    first, second = (body.get("id") if isinstance(body, dict) else None for body in bodies)
    if first is None or second is None:
        raise NoOccasion("the answers have no id")
    if first == second:
        yield Finding("/id", f"another id than {first!r}", repr(second))
