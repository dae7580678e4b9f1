"""Media as paths of files on the server: they are read, and paths without media are refused."""

from __future__ import annotations

from typing import TYPE_CHECKING

from conformance.check import Context, Finding, check, relation
from conformance.judge.applicability import in_scenario
from conformance.judge.checks.media.expectations import (
    expect_answer,
    expect_answers_like_first,
    expect_other_answer,
    expect_refusal,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from conformance.exchange import Exchange


@check("media.path-read", on=in_scenario("media-path", "path-image-*"))
def image_on_the_server_is_read(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """A request with the path of an image on the server, a JPG or PNG, is answered."""
    yield from expect_answer(exchange)


@relation("media.path-images-told-apart", over=("path-image-red", "path-image-blue"))
def images_on_the_server_are_told_apart(exchanges: Mapping[str, Exchange], context: Context) -> Iterator[Finding]:
    """One question about a red and a blue image on the server has two answers: the files are read."""
    yield from expect_other_answer(exchanges, context)


@relation("media.path-videos-told-apart", over=("path-video-red", "path-video-blue"))
def videos_on_the_server_are_told_apart(exchanges: Mapping[str, Exchange], context: Context) -> Iterator[Finding]:
    """One question about a red and a blue video on the server has two answers: the files are read."""
    yield from expect_other_answer(exchanges, context)


@relation("media.path-audio-told-apart", over=("path-audio-low", "path-audio-high"))
def tones_on_the_server_are_told_apart(exchanges: Mapping[str, Exchange], context: Context) -> Iterator[Finding]:
    """One question about a low and a high tone on the server has two answers: the files are read."""
    yield from expect_other_answer(exchanges, context)


@relation("media.path-video-formats", over=("path-video-mp4", "path-video-avi", "path-video-wmv"))
def video_formats_are_read(exchanges: Mapping[str, Exchange], context: Context) -> Iterator[Finding]:
    """Videos on the server are read as AVI and WMV, as they are as MP4."""
    yield from expect_answers_like_first(exchanges, context)


@relation("media.path-audio-formats", over=("path-audio-wav", "path-audio-mp3", "path-audio-flac"))
def audio_formats_are_read(exchanges: Mapping[str, Exchange], context: Context) -> Iterator[Finding]:
    """Audio files on the server are read as MP3 and FLAC, as they are as WAV."""
    yield from expect_answers_like_first(exchanges, context)


@check("media.bad-path-refused", on=in_scenario("media-path-broken"))
def path_without_an_image_is_refused(exchange: Exchange, context: Context) -> Iterator[Finding]:
    """The path of a missing file, or of something other than an image, is refused as the client's error."""
    yield from expect_refusal(exchange, context)
