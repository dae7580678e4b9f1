"""Files of media: as many and as large ones as allowed are accepted; more, larger and broken ones are refused."""

from __future__ import annotations

from typing import TYPE_CHECKING

from conformance.check import Context, Finding, check, relation
from conformance.judge.applicability import in_scenario
from conformance.judge.checks.media.expectations import (
    expect_answer,
    expect_answer_or_refusal,
    expect_answers_like_first,
    expect_refusal,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from conformance.exchange import Exchange


@check("media.broken-refused", on=in_scenario("media-broken"))
def broken_image_is_refused(exchange: Exchange, context: Context) -> Iterator[Finding]:
    """An image that is cut off, empty or no image at all is refused as the client's error, never answered."""
    yield from expect_refusal(exchange, context)


@check("media.no-server-error", on=in_scenario("media-unusual"))
def unusual_image_is_no_failure(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """An animation, gigapixels, one pixel or another format than declared: answered, or refused as the client's error.

    A server that decodes without a look at the header fails, or takes gigabytes of memory.
    """
    yield from expect_answer_or_refusal(exchange)


@check("media.twenty-accepted", on=in_scenario("media-number", "images-twenty"))
def twenty_images_are_accepted(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """A request with twenty images is answered."""
    yield from expect_answer(exchange)


@check("media.more-refused", on=in_scenario("media-number", "images-twenty-one"))
def more_images_are_refused(exchange: Exchange, context: Context) -> Iterator[Finding]:
    """A request with more than twenty images is refused, not answered without some of them."""
    yield from expect_refusal(exchange, context)


@relation("media.largest-image-accepted", over=("size-image-small", "size-image-largest"))
def image_of_the_limit_is_accepted(exchanges: Mapping[str, Exchange], context: Context) -> Iterator[Finding]:
    """An image of exactly the size limit is accepted, as the same image of a few bytes is."""
    yield from expect_answers_like_first(exchanges, context)


@relation("media.largest-audio-accepted", over=("size-audio-small", "size-audio-largest"))
def audio_of_the_limit_is_accepted(exchanges: Mapping[str, Exchange], context: Context) -> Iterator[Finding]:
    """An audio file of exactly the size limit is accepted, as the same file of a few bytes is."""
    yield from expect_answers_like_first(exchanges, context)


@check("media.larger-refused", on=in_scenario("media-size", "size-*-above"))
def file_beyond_the_limit_is_refused(exchange: Exchange, context: Context) -> Iterator[Finding]:
    """A file of one byte more than the size limit is refused."""
    yield from expect_refusal(exchange, context)
