"""Checks of images, videos and audio: they are accepted, they reach the model, and broken ones are refused."""

from __future__ import annotations

import re
from itertools import chain
from typing import TYPE_CHECKING, Final

from conformance.check import Context, Finding, NotExercised, NotObserved, check, relation, series
from conformance.judge.acceptance import is_refused
from conformance.judge.applicability import in_scenario, summarize, why_no_response, why_unanswered
from conformance.judge.logprob_entries import are_same, precise_alternatives
from conformance.judge.token_counts import comparable_counts

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from conformance.exchange import Exchange


SHOWN: Final = ("red", "green", "blue")
"""The colours of the images, in the order in which three of them are sent."""
OTHERS: Final = ("images-three-other-first", "images-three-other-middle", "images-three-other-last")
"""The requests in which one of three images is another one."""
LATER: Final = ("images-later-green", "images-later-blue")
"""The requests in which the image of a later turn is another one."""
EDGES: Final = tuple((f"image-edge-{edge}", "image-edge-none") for edge in ("left", "right", "top", "bottom"))
"""Each request with an image that is another one at an edge only, and the one with the plain image."""
AMID: Final = ("image-amid-texts", "image-ahead-of-texts")
"""The requests in which an image stands between texts and before them."""
IMAGE_PAIRS: Final = (*(("images-three", name) for name in OTHERS), LATER, *EDGES, AMID)
"""Requests that show two different images, or one in two places."""
AUDIO_PAIRS: Final = (("audio-once", "audio-again"), ("audio-silent", "audio-right"), ("audio-once", "audio-fast"))
"""Requests with two different sounds."""
PLACES: Final = {"place-top-left": ("top", "left"), "place-bottom-right": ("bottom", "right")}
"""Where the shape of an image lies, by request."""
OPPOSITE: Final = {"top": "bottom", "bottom": "top", "left": "right", "right": "left"}


def _require_answers(exchanges: Mapping[str, Exchange], context: Context) -> None:
    """Raise NotExercised if the server refused a request, which another check reports; NotObserved for a failure."""
    for exchange in exchanges.values():
        if is_refused(exchange, context.contract):
            raise NotExercised(f"{exchange.id} was refused ({summarize(exchange)})")
        if reason := why_unanswered(exchange):
            raise NotObserved(reason)


def _require_repeating(context: Context) -> None:
    """Raise NotExercised if one greedy request has several answers."""
    repeated = context.repetition()
    if repeated is not None and not repeated.mostly and not repeated.always:
        raise NotExercised("greedy answers of this server do not repeat")


def _words(exchange: Exchange) -> str:
    return " ".join((exchange.content() or "").split()).casefold().strip(" .!")


def _colours(exchange: Exchange) -> list[str]:
    """Return the colours of the images that an answer names, in its order and without repetitions."""
    words = re.findall(r"\w+", (exchange.content() or "").casefold())
    return list(dict.fromkeys(word for word in words if word in SHOWN))


def _read_apart(exchanges: Mapping[str, Exchange], context: Context) -> Iterator[Finding]:
    """Yield a finding if two different media lead to the same log-probabilities."""
    _require_answers(exchanges, context)
    (first, one), (second, other) = exchanges.items()
    known, found = (precise_alternatives(exchange) for exchange in (one, other))
    if not known or not found:
        raise NotExercised("the answers have too few alternatives")
    if are_same(known, found):
        got = ", ".join(f"{token!r} {value:.4f}" for token, value in found.items())
        yield Finding(f"/{second}/choices/0/logprobs", f"other log-probabilities than of {first}", got[:200])


def _tell_apart(exchanges: Mapping[str, Exchange], context: Context) -> Iterator[Finding]:
    """Yield a finding if two different media get one answer."""
    _require_answers(exchanges, context)
    (first, one), (second, other) = exchanges.items()
    if _words(one) == _words(other):
        yield Finding(
            f"/{second}/choices/0/message/content", f"another answer than to {first}", repr(other.content())[:200]
        )


def _count_more(exchanges: Mapping[str, Exchange], context: Context) -> Iterator[Finding]:
    """Yield a finding unless each prompt counts more tokens than the one before."""
    _require_answers(exchanges, context)
    counts = {name: comparable_counts(exchange)[0] for name, exchange in exchanges.items()}
    (_, fewer), (name, more) = counts.items()
    if more <= fewer:
        yield Finding(f"/{name}/usage/prompt_tokens", f"more than {fewer}", str(more))


@check("media.image-answered", on=in_scenario("media-image", "image-[rbg]*"))
def image_is_answered(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """A request with an image as a base64-encoded JPG is answered: in colour or grey, before or after the text."""
    if why_unanswered(exchange):
        yield Finding("/status", "an answer", summarize(exchange))


@relation("media.images-told-apart", over=("image-red", "image-blue"))
def images_are_told_apart(exchanges: Mapping[str, Exchange], context: Context) -> Iterator[Finding]:
    """One question about a red and a blue image has two answers: the image reaches the model.

    Servers that do not support a part often drop it silently, and the model then guesses from the question alone.
    """
    yield from _tell_apart(exchanges, context)


@relation("media.images-told-apart-in-streams", over=("image-red-streamed", "image-blue-streamed"))
def images_are_told_apart_in_streams(exchanges: Mapping[str, Exchange], context: Context) -> Iterator[Finding]:
    """One question about a red and a blue image has two answers also in streams."""
    yield from _tell_apart(exchanges, context)


@relation("media.order-kept", over=("images-red-blue", "images-blue-red"))
def order_of_images_is_kept(exchanges: Mapping[str, Exchange], context: Context) -> Iterator[Finding]:
    """The question about the first of two images has another answer if they change places."""
    yield from _tell_apart(exchanges, context)


@series("media.colours-as-shown", scenario="media-image")
def colours_are_those_of_the_images(exchanges: Mapping[str, Exchange], _: Context) -> Iterator[Finding]:
    """Answers do not exchange the colours of the images: red for blue and blue for red, or three in another order.

    Only an exact exchange is reported, which a model that guesses or does not see hardly writes.
    """
    named = {name: _colours(exchanges[name]) for name in exchanges if not why_unanswered(exchanges[name])}
    alone = {name: named.get(f"image-{name}", []) for name in ("red", "blue")}
    if not any(alone.values()) and not named.get("images-three"):
        raise NotExercised("no answer names a colour of the images")
    if alone == {"red": ["blue"], "blue": ["red"]}:
        yield Finding("/image-red/choices/0/message/content", "red", repr(exchanges["image-red"].content())[:200])
    listed = named.get("images-three", [])
    if sorted(listed) == sorted(SHOWN) and listed != [*SHOWN]:
        yield Finding(
            "/images-three/choices/0/message/content",
            ", ".join(SHOWN),
            repr(exchanges["images-three"].content())[:200],
        )


@relation("media.every-image-read", over=tuple(dict.fromkeys(chain.from_iterable(IMAGE_PAIRS))))
def every_image_is_read(exchanges: Mapping[str, Exchange], context: Context) -> Iterator[Finding]:
    """Another image in place of the first of three, or a corner of another colour in the second or the third, changes
    the log-probabilities of the answer, and so does another image in a later turn, another colour of an edge, and an
    image that stands before all texts in place of between them: the model reads all of each, where it stands.
    """
    for first, second in IMAGE_PAIRS:
        yield from _read_apart({step: exchanges[step] for step in (first, second)}, context)


@relation("media.places-as-shown", over=tuple(PLACES))
def places_are_those_of_the_images(exchanges: Mapping[str, Exchange], context: Context) -> Iterator[Finding]:
    """Answers do not exchange left and right, or top and bottom, of both of two images.

    Only an exact exchange is reported, which a model that guesses or does not see hardly writes.
    """
    _require_answers(exchanges, context)
    named = {name: set(re.findall(r"\w+", (exchanges[name].content() or "").casefold())) for name in PLACES}
    seen = False
    for at in range(2):
        shown = [(place[at] in named[name], OPPOSITE[place[at]] in named[name]) for name, place in PLACES.items()]
        seen = seen or all(right != wrong for right, wrong in shown)
        if all(wrong and not right for right, wrong in shown):
            expected = " and ".join(place[at] for place in PLACES.values())
            got = " and ".join(repr(exchanges[name].content()) for name in PLACES)
            yield Finding("/place-*/choices/0/message/content", expected, got[:200])
    if not seen:
        raise NotExercised("the answers do not name a place")


@relation("media.history-kept", over=("image-red-earlier", "image-blue-earlier"))
def image_of_an_earlier_turn_is_kept(exchanges: Mapping[str, Exchange], context: Context) -> Iterator[Finding]:
    """The question about an image of an earlier turn depends on that image: it still reaches the model."""
    yield from _tell_apart(exchanges, context)


@relation("media.image-counted", over=("image-none", "image-red", "image-behind-text"))
def image_is_counted(exchanges: Mapping[str, Exchange], context: Context) -> Iterator[Finding]:
    """An image adds to prompt_tokens, before the text as after it."""
    for name in ("image-red", "image-behind-text"):
        yield from _count_more({step: exchanges[step] for step in ("image-none", name)}, context)


@relation("media.each-image-counted", over=("image-red", "images-red-blue"))
def each_image_is_counted(exchanges: Mapping[str, Exchange], context: Context) -> Iterator[Finding]:
    """A second image adds to prompt_tokens again."""
    yield from _count_more(exchanges, context)


@relation("media.other-formats-counted", over=("format-png", "format-others"))
def images_of_other_formats_are_counted(exchanges: Mapping[str, Exchange], context: Context) -> Iterator[Finding]:
    """A WebP and a GIF, if they are accepted, add more to prompt_tokens than one PNG of their size: both are read."""
    yield from _count_more(exchanges, context)


@relation("media.streamed-as-plain", over=("image-red", "image-red-streamed"))
def streamed_answer_is_the_plain_one(exchanges: Mapping[str, Exchange], context: Context) -> Iterator[Finding]:
    """The same greedy request about an image has the same answer streamed."""
    _require_answers(exchanges, context)
    _require_repeating(context)
    plain, streamed = exchanges.values()
    if plain.content() != streamed.content():
        yield Finding(
            "/image-red-streamed/choices/0/message/content", repr(plain.content())[:200], repr(streamed.content())[:200]
        )


@check("media.twenty-accepted", on=in_scenario("media-number", "images-twenty"))
def twenty_images_are_accepted(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """A request with twenty images is answered."""
    if why_unanswered(exchange):
        yield Finding("/status", "an answer", summarize(exchange))


@check("media.more-refused", on=in_scenario("media-number", "images-twenty-one"))
def more_images_are_refused(exchange: Exchange, context: Context) -> Iterator[Finding]:
    """A request with more than twenty images is refused, not answered without some of them."""
    yield from _refused(exchange, context)


@check("media.broken-refused", on=in_scenario("media-broken"))
def broken_image_is_refused(exchange: Exchange, context: Context) -> Iterator[Finding]:
    """An image that is cut off, empty or no image at all is refused as the client's error, never answered."""
    yield from _refused(exchange, context)


@relation("media.hidden-not-shown", over=("hidden-red", "hidden-blue"))
def transparent_pixels_are_not_shown(exchanges: Mapping[str, Exchange], context: Context) -> Iterator[Finding]:
    """Two images without a visible pixel get one answer, whatever colours their transparent pixels store."""
    _require_repeating(context)
    _require_answers(exchanges, context)
    red, blue = exchanges.values()
    if _words(red) != _words(blue):
        yield Finding("/hidden-blue/choices/0/message/content", repr(red.content())[:200], repr(blue.content())[:200])


@check("media.no-server-error", on=in_scenario("media-unusual"))
def unusual_image_is_no_failure(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """An animation, gigapixels, one pixel or another format than declared: answered, or refused as the client's error.

    A server that decodes without a look at the header fails, or takes gigabytes of memory.
    """
    yield from _answered_or_refused(exchange)


@relation("media.videos-told-apart", over=("video-red", "video-blue"))
def videos_are_told_apart(exchanges: Mapping[str, Exchange], context: Context) -> Iterator[Finding]:
    """One question about a red and a blue video has two answers: the video reaches the model."""
    yield from _tell_apart(exchanges, context)


@relation("media.video-counted", over=("video-none", "video-red"))
def video_is_counted(exchanges: Mapping[str, Exchange], context: Context) -> Iterator[Finding]:
    """A video adds to prompt_tokens."""
    yield from _count_more(exchanges, context)


@check("media.video-in-order", on=in_scenario("media-video", "video-turned"))
def pictures_of_a_video_are_in_order(exchange: Exchange, context: Context) -> Iterator[Finding]:
    """A video that turns from red to blue is not described as one that turns from blue to red."""
    _require_answers({"video-turned": exchange}, context)
    named = _colours(exchange)
    if sorted(named) != ["blue", "red"]:
        raise NotExercised("the answer does not name both colours")
    if named != ["red", "blue"]:
        yield Finding("/choices/0/message/content", "red, then blue", repr(exchange.content())[:200])


@relation("media.whole-video-read", over=("video-steady", "video-turned"))
def whole_video_is_read(exchanges: Mapping[str, Exchange], context: Context) -> Iterator[Finding]:
    """A video that changes its colour half-way has other log-probabilities than one that keeps the first colour."""
    yield from _read_apart(exchanges, context)


@relation("media.audio-told-apart", over=("audio-low", "audio-high"))
def tones_are_told_apart(exchanges: Mapping[str, Exchange], context: Context) -> Iterator[Finding]:
    """One question about a low and a high tone has two answers: the audio reaches the model."""
    yield from _tell_apart(exchanges, context)


@relation("media.whole-audio-read", over=tuple(dict.fromkeys(chain.from_iterable(AUDIO_PAIRS))))
def whole_audio_file_is_read(exchanges: Mapping[str, Exchange], context: Context) -> Iterator[Finding]:
    """An audio file with one more tone at its end, with a tone in the right channel, or with the same samples at a
    higher rate, has other log-probabilities than without.
    """
    for pair in AUDIO_PAIRS:
        yield from _read_apart({step: exchanges[step] for step in pair}, context)


@relation("media.audio-counted", over=("audio-none", "audio-high"))
def audio_is_counted(exchanges: Mapping[str, Exchange], context: Context) -> Iterator[Finding]:
    """An audio file adds to prompt_tokens."""
    yield from _count_more(exchanges, context)


@check("media.url-fetched", on=in_scenario("media-url", "url-image-*"))
def image_behind_a_url_is_fetched(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """A request with the URL of an image, a JPG or PNG, is answered."""
    if why_unanswered(exchange):
        yield Finding("/status", "an answer", summarize(exchange))


@relation("media.url-images-told-apart", over=("url-image-red", "url-image-blue"))
def images_behind_urls_are_told_apart(exchanges: Mapping[str, Exchange], context: Context) -> Iterator[Finding]:
    """One question about a red and a blue image behind URLs has two answers: the images are fetched."""
    yield from _tell_apart(exchanges, context)


@relation("media.url-videos-told-apart", over=("url-video-red", "url-video-blue"))
def videos_behind_urls_are_told_apart(exchanges: Mapping[str, Exchange], context: Context) -> Iterator[Finding]:
    """One question about a red and a blue video behind URLs has two answers: the videos are fetched."""
    yield from _tell_apart(exchanges, context)


@relation("media.url-audio-told-apart", over=("url-audio-low", "url-audio-high"))
def tones_behind_urls_are_told_apart(exchanges: Mapping[str, Exchange], context: Context) -> Iterator[Finding]:
    """One question about a low and a high tone behind URLs has two answers: the audio files are fetched."""
    yield from _tell_apart(exchanges, context)


@check("media.bad-url-refused", on=in_scenario("media-url-broken"))
def url_without_an_image_is_refused(exchange: Exchange, context: Context) -> Iterator[Finding]:
    """The URL of a missing file, or of something other than an image, is refused as the client's error."""
    yield from _refused(exchange, context)


@check("media.url-no-server-error", on=in_scenario("media-url-unusual"))
def unusual_url_is_no_failure(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """The URL of a redirect, or of another format than its name says, is answered or refused as the client's error."""
    yield from _answered_or_refused(exchange)


@check("media.path-read", on=in_scenario("media-path", "path-image-*"))
def image_on_the_server_is_read(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """A request with the path of an image on the server, a JPG or PNG, is answered."""
    if why_unanswered(exchange):
        yield Finding("/status", "an answer", summarize(exchange))


@relation("media.path-images-told-apart", over=("path-image-red", "path-image-blue"))
def images_on_the_server_are_told_apart(exchanges: Mapping[str, Exchange], context: Context) -> Iterator[Finding]:
    """One question about a red and a blue image on the server has two answers: the files are read."""
    yield from _tell_apart(exchanges, context)


@relation("media.path-videos-told-apart", over=("path-video-red", "path-video-blue"))
def videos_on_the_server_are_told_apart(exchanges: Mapping[str, Exchange], context: Context) -> Iterator[Finding]:
    """One question about a red and a blue video on the server has two answers: the files are read."""
    yield from _tell_apart(exchanges, context)


@relation("media.path-audio-told-apart", over=("path-audio-low", "path-audio-high"))
def tones_on_the_server_are_told_apart(exchanges: Mapping[str, Exchange], context: Context) -> Iterator[Finding]:
    """One question about a low and a high tone on the server has two answers: the files are read."""
    yield from _tell_apart(exchanges, context)


@relation("media.path-video-formats", over=("path-video-mp4", "path-video-avi", "path-video-wmv"))
def video_formats_are_read(exchanges: Mapping[str, Exchange], context: Context) -> Iterator[Finding]:
    """Videos on the server are read as AVI and WMV, as they are as MP4."""
    yield from _others_as_first(exchanges, context)


@relation("media.path-audio-formats", over=("path-audio-wav", "path-audio-mp3", "path-audio-flac"))
def audio_formats_are_read(exchanges: Mapping[str, Exchange], context: Context) -> Iterator[Finding]:
    """Audio files on the server are read as MP3 and FLAC, as they are as WAV."""
    yield from _others_as_first(exchanges, context)


@check("media.bad-path-refused", on=in_scenario("media-path-broken"))
def path_without_an_image_is_refused(exchange: Exchange, context: Context) -> Iterator[Finding]:
    """The path of a missing file, or of something other than an image, is refused as the client's error."""
    yield from _refused(exchange, context)


@relation("media.largest-image-accepted", over=("size-image-small", "size-image-largest"))
def image_of_the_limit_is_accepted(exchanges: Mapping[str, Exchange], context: Context) -> Iterator[Finding]:
    """An image of exactly the size limit is accepted, as the same image of a few bytes is."""
    yield from _others_as_first(exchanges, context)


@relation("media.largest-audio-accepted", over=("size-audio-small", "size-audio-largest"))
def audio_of_the_limit_is_accepted(exchanges: Mapping[str, Exchange], context: Context) -> Iterator[Finding]:
    """An audio file of exactly the size limit is accepted, as the same file of a few bytes is."""
    yield from _others_as_first(exchanges, context)


@check("media.larger-refused", on=in_scenario("media-size", "size-*-above"))
def file_beyond_the_limit_is_refused(exchange: Exchange, context: Context) -> Iterator[Finding]:
    """A file of one byte more than the size limit is refused."""
    yield from _refused(exchange, context)


def _others_as_first(exchanges: Mapping[str, Exchange], context: Context) -> Iterator[Finding]:
    """Yield a finding for each file that is not answered as the first is; a model may not take this kind at all."""
    (first, known), *others = exchanges.items()
    _require_answers({first: known}, context)
    for name, exchange in others:
        if why_unanswered(exchange):
            yield Finding(f"/{name}/status", f"an answer, as for {first}", summarize(exchange))


def _answered_or_refused(exchange: Exchange) -> Iterator[Finding]:
    if reason := why_no_response(exchange):
        raise NotObserved(reason)
    if exchange.status is None or exchange.status >= 500:
        yield Finding("/status", "an answer, or a status from 400 to 499", summarize(exchange))


def _refused(exchange: Exchange, context: Context) -> Iterator[Finding]:
    if reason := why_no_response(exchange):
        raise NotObserved(reason)
    if not is_refused(exchange, context.contract):
        yield Finding("/status", "a status from 400 to 499", summarize(exchange))
