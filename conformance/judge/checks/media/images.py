"""Images in a request: they reach the model as they are, in their order and place, and they are counted."""

from __future__ import annotations

import re
from itertools import chain
from typing import TYPE_CHECKING, Final

from conformance.check import Context, Finding, NotExercised, check, relation, series
from conformance.judge.acceptance import is_refused_somehow
from conformance.judge.applicability import in_scenario, why_unanswered
from conformance.judge.checks.media.expectations import (
    SHOWN,
    expect_answer,
    expect_more_tokens,
    expect_other_answer,
    expect_other_values,
    named_colours,
    plain_words,
    require_answers,
    require_repeating,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from conformance.exchange import Exchange


OTHERS: Final = ("images-three-other-first", "images-three-other-middle")
"""The requests in which one of three images is another one."""
SIX: Final = ("images-six", "images-six-other-last")
"""The requests in which the last of six images is another one. A server may refuse that many."""
LATER: Final = ("images-later-green", "images-later-blue")
"""The requests in which the image of a later turn is another one."""
EDGES: Final = tuple((f"image-edge-{edge}", "image-edge-none") for edge in ("left", "right", "top", "bottom"))
"""Each request with an image that is another one at an edge only, and the one with the plain image."""
TURNED: Final = tuple(("image-tall", name) for name in ("image-wide-left", "image-wide-right", "image-edge-none"))
"""The request with a tall image that has a mark near an end, those with the same image after a quarter turn, and one
without a mark."""
PALETTES: Final = ("image-palette-red", "image-palette-blue")
"""The requests with an image of another colour, whose pixels are the same numbers in another palette."""
AMID: Final = ("image-amid-texts", "image-ahead-of-texts")
"""The requests in which an image stands between texts and before them."""
MAYBE_REFUSED: Final = frozenset((*SIX, *PALETTES, *chain.from_iterable((*EDGES, *TURNED))))
"""The requests whose number of images or format not every document has."""
IMAGE_PAIRS: Final = (*(("images-three", name) for name in OTHERS), SIX, LATER, *EDGES, *TURNED, PALETTES, AMID)
"""Requests that show two different images, or one in two places or positions."""
PLACES: Final = {"place-top-left": ("top", "left"), "place-bottom-right": ("bottom", "right")}
"""Where the shape of an image lies, by request."""
OPPOSITE: Final = {"top": "bottom", "bottom": "top", "left": "right", "right": "left"}


@check("media.image-answered", on=in_scenario("media-image", "image-[rbg]*"))
def image_is_answered(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """A request with an image as a base64-encoded JPG is answered: in colour or grey, before or after the text."""
    yield from expect_answer(exchange)


@check("media.image-alone-answered", on=in_scenario("media-image", "image-alone"))
def image_without_text_is_answered(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """A message that consists of an image is answered: no document demands a part with text."""
    yield from expect_answer(exchange)


@relation("media.images-told-apart", over=("image-red", "image-blue"))
def images_are_told_apart(exchanges: Mapping[str, Exchange], context: Context) -> Iterator[Finding]:
    """One question about a red and a blue image has two answers: the image reaches the model.

    Servers that do not support a part often drop it silently, and the model then guesses from the question alone.
    """
    yield from expect_other_answer(exchanges, context)


@relation("media.images-told-apart-in-streams", over=("image-red-streamed", "image-blue-streamed"))
def images_are_told_apart_in_streams(exchanges: Mapping[str, Exchange], context: Context) -> Iterator[Finding]:
    """One question about a red and a blue image has two answers also in streams."""
    yield from expect_other_answer(exchanges, context)


@relation("media.order-kept", over=("images-red-blue", "images-blue-red"))
def order_of_images_is_kept(exchanges: Mapping[str, Exchange], context: Context) -> Iterator[Finding]:
    """The question about the first of two images has another answer if they change places."""
    yield from expect_other_answer(exchanges, context)


@series("media.colours-as-shown", scenario="media-image")
def colours_are_those_of_the_images(exchanges: Mapping[str, Exchange], _: Context) -> Iterator[Finding]:
    """Answers do not exchange the colours of the images: red for blue and blue for red, or three in another order.

    Only an exact exchange is reported, which a model that guesses or does not see hardly writes.
    """
    named = {name: named_colours(exchanges[name]) for name in exchanges if not why_unanswered(exchanges[name])}
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
    """Another image in place of the first of three, or a corner of another colour in the second or the sixth,
    changes the log-probabilities of the answer, and so does another image in a later turn, another colour of an edge or
    of a palette, a quarter turn of a tall image, a mark near its end, and an image that stands before all texts in
    place of between them: the model reads all of each, where it stands and as it stands.
    """
    for first, second in IMAGE_PAIRS:
        pair = {step: exchanges[step] for step in (first, second)}
        if not MAYBE_REFUSED.isdisjoint(pair) and any(map(is_refused_somehow, pair.values())):
            continue
        yield from expect_other_values(pair, context)


@relation("media.places-as-shown", over=tuple(PLACES))
def places_are_those_of_the_images(exchanges: Mapping[str, Exchange], context: Context) -> Iterator[Finding]:
    """Answers do not exchange left and right, or top and bottom, of both of two images.

    Only an exact exchange is reported, which a model that guesses or does not see hardly writes.
    """
    require_answers(exchanges, context)
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
    yield from expect_other_answer(exchanges, context)


@relation("media.image-counted", over=("image-none", "image-red", "image-behind-text"))
def image_is_counted(exchanges: Mapping[str, Exchange], context: Context) -> Iterator[Finding]:
    """An image adds to prompt_tokens, before the text as after it."""
    for name in ("image-red", "image-behind-text"):
        yield from expect_more_tokens({step: exchanges[step] for step in ("image-none", name)}, context)


@relation("media.each-image-counted", over=("image-red", "images-red-blue"))
def each_image_is_counted(exchanges: Mapping[str, Exchange], context: Context) -> Iterator[Finding]:
    """A second image adds to prompt_tokens again."""
    yield from expect_more_tokens(exchanges, context)


@relation("media.other-formats-counted", over=("format-png", "format-others"))
def images_of_other_formats_are_counted(exchanges: Mapping[str, Exchange], context: Context) -> Iterator[Finding]:
    """A WebP and a GIF, if they are accepted, add more to prompt_tokens than one PNG of their size: both are read."""
    yield from expect_more_tokens(exchanges, context)


@relation("media.streamed-as-plain", over=("image-red", "image-red-streamed"))
def streamed_answer_is_the_plain_one(exchanges: Mapping[str, Exchange], context: Context) -> Iterator[Finding]:
    """The same greedy request about an image has the same answer streamed."""
    require_answers(exchanges, context)
    require_repeating(context)
    plain, streamed = exchanges.values()
    if plain.content() != streamed.content():
        yield Finding(
            "/image-red-streamed/choices/0/message/content", repr(plain.content())[:200], repr(streamed.content())[:200]
        )


@relation("media.hidden-not-shown", over=("hidden-red", "hidden-blue"))
def transparent_pixels_are_not_shown(exchanges: Mapping[str, Exchange], context: Context) -> Iterator[Finding]:
    """Two images without a visible pixel get one answer, whatever colours their transparent pixels store."""
    require_repeating(context)
    require_answers(exchanges, context)
    red, blue = exchanges.values()
    if plain_words(red) != plain_words(blue):
        yield Finding("/hidden-blue/choices/0/message/content", repr(red.content())[:200], repr(blue.content())[:200])
