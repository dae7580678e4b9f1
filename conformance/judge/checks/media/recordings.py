"""Videos and audio in a request: the whole recording reaches the model, and it is counted."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING, Final

from conformance.check import Context, Finding, NotExercised, check, relation
from conformance.judge.applicability import in_scenario
from conformance.judge.checks.media.expectations import (
    expect_more_tokens,
    expect_other_answer,
    expect_other_values,
    named_colours,
    require_answers,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from conformance.exchange import Exchange


AUDIO_PAIRS: Final = (("audio-once", "audio-again"), ("audio-silent", "audio-right"), ("audio-once", "audio-fast"))
"""Requests with two different sounds."""


@relation("media.videos-told-apart", over=("video-red", "video-blue"))
def videos_are_told_apart(exchanges: Mapping[str, Exchange], context: Context) -> Iterator[Finding]:
    """One question about a red and a blue video has two answers: the video reaches the model."""
    yield from expect_other_answer(exchanges, context)


@relation("media.video-counted", over=("video-none", "video-red", "image-watched", "video-beside-image"))
def video_is_counted(exchanges: Mapping[str, Exchange], context: Context) -> Iterator[Finding]:
    """A video adds to prompt_tokens, also next to an image."""
    for pair in (("video-none", "video-red"), ("image-watched", "video-beside-image")):
        yield from expect_more_tokens({name: exchanges[name] for name in pair}, context)


@check("media.video-in-order", on=in_scenario("media-video", "video-turned"))
def pictures_of_a_video_are_in_order(exchange: Exchange, context: Context) -> Iterator[Finding]:
    """A video that turns from red to blue is not described as one that turns from blue to red."""
    require_answers({"video-turned": exchange}, context)
    named = named_colours(exchange)
    if sorted(named) != ["blue", "red"]:
        raise NotExercised("the answer does not name both colours")
    if named != ["red", "blue"]:
        yield Finding("/choices/0/message/content", "red, then blue", repr(exchange.content())[:200])


@relation("media.whole-video-read", over=("video-steady", "video-turned"))
def whole_video_is_read(exchanges: Mapping[str, Exchange], context: Context) -> Iterator[Finding]:
    """A video that changes its colour half-way has other log-probabilities than one that keeps the first colour."""
    yield from expect_other_values(exchanges, context)


@relation("media.audio-told-apart", over=("audio-low", "audio-high"))
def tones_are_told_apart(exchanges: Mapping[str, Exchange], context: Context) -> Iterator[Finding]:
    """One question about a low and a high tone has two answers: the audio reaches the model."""
    yield from expect_other_answer(exchanges, context)


@relation("media.whole-audio-read", over=tuple(dict.fromkeys(chain.from_iterable(AUDIO_PAIRS))))
def whole_audio_file_is_read(exchanges: Mapping[str, Exchange], context: Context) -> Iterator[Finding]:
    """An audio file with one more tone at its end, with a tone in the right channel, or with the same samples at a
    higher rate, has other log-probabilities than without.
    """
    for pair in AUDIO_PAIRS:
        yield from expect_other_values({step: exchanges[step] for step in pair}, context)


@relation("media.audio-counted", over=("audio-none", "audio-high"))
def audio_is_counted(exchanges: Mapping[str, Exchange], context: Context) -> Iterator[Finding]:
    """An audio file adds to prompt_tokens."""
    yield from expect_more_tokens(exchanges, context)
