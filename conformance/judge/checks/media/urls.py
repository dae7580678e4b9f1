"""Media behind URLs: they are fetched, and URLs without media are refused."""

from __future__ import annotations

from typing import TYPE_CHECKING

from conformance.check import Context, Finding, check, relation
from conformance.judge.applicability import in_scenario
from conformance.judge.checks.media.expectations import (
    expect_answer,
    expect_answer_or_refusal,
    expect_other_answer,
    expect_refusal,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from conformance.exchange import Exchange


@check("media.url-fetched", on=in_scenario("media-url", "url-image-*"))
def image_behind_a_url_is_fetched(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """A request with the URL of an image, a JPG or PNG, is answered."""
    yield from expect_answer(exchange)


@relation("media.url-images-told-apart", over=("url-image-red", "url-image-blue"))
def images_behind_urls_are_told_apart(exchanges: Mapping[str, Exchange], context: Context) -> Iterator[Finding]:
    """One question about a red and a blue image behind URLs has two answers: the images are fetched."""
    yield from expect_other_answer(exchanges, context)


@relation("media.url-videos-told-apart", over=("url-video-red", "url-video-blue"))
def videos_behind_urls_are_told_apart(exchanges: Mapping[str, Exchange], context: Context) -> Iterator[Finding]:
    """One question about a red and a blue video behind URLs has two answers: the videos are fetched."""
    yield from expect_other_answer(exchanges, context)


@relation("media.url-audio-told-apart", over=("url-audio-low", "url-audio-high"))
def tones_behind_urls_are_told_apart(exchanges: Mapping[str, Exchange], context: Context) -> Iterator[Finding]:
    """One question about a low and a high tone behind URLs has two answers: the audio files are fetched."""
    yield from expect_other_answer(exchanges, context)


@check("media.bad-url-refused", on=in_scenario("media-url-broken"))
def url_without_an_image_is_refused(exchange: Exchange, context: Context) -> Iterator[Finding]:
    """The URL of a missing file, or of something other than an image, is refused as the client's error."""
    yield from expect_refusal(exchange, context)


@check("media.url-no-server-error", on=in_scenario("media-url-unusual"))
def unusual_url_is_no_failure(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """The URL of a redirect, or of another format than its name says, is answered or refused as the client's error."""
    yield from expect_answer_or_refusal(exchange)
