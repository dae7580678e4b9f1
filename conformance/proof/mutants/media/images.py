"""Mutants of images: they are dropped, confused or not counted."""

from __future__ import annotations

from typing import TYPE_CHECKING

from conformance.proof.editing.answers import edit_text
from conformance.proof.editing.responses import refuse
from conformance.proof.mutants.media.losses import one_answer, uncounted, unread
from conformance.proof.mutants.mutant import mutant

if TYPE_CHECKING:
    from conformance.exchange import Exchange


DROPPED = one_answer("media.images-told-apart", "Images are dropped, and the model guesses.", "image-???*")
DROPPED_IN_STREAMS = one_answer(
    "media.images-told-apart-in-streams", "Images are dropped in streams.", "image-*-streamed"
)
SORTED = one_answer("media.order-kept", "Images are sorted by their content.", "images-*")
FORGOTTEN = one_answer("media.history-kept", "Images of earlier turns are dropped.", "image-*-earlier")
FIRST_UNREAD = unread("media.every-image-read", "The first of three images is not read.", "images-three*")
IMAGE_UNCOUNTED = uncounted("media.image-counted", "The tokens of an image are not counted.")
SECOND_UNCOUNTED = uncounted("media.each-image-counted", "The tokens of a second image are not counted.")
OTHERS_UNCOUNTED = uncounted("media.other-formats-counted", "The tokens of a WebP and a GIF are not counted.")


@mutant("media.colours-as-shown", steps="images-three")
def images_are_reversed(exchange: Exchange) -> Exchange:
    """Three images reach the model in reverse order."""
    return edit_text(exchange, lambda _: "Blue, then green, then red.")


@mutant("media.places-as-shown", steps="place-*")
def images_are_mirrored(exchange: Exchange) -> Exchange:
    """Left and right of images are exchanged."""
    return edit_text(exchange, lambda _: "Top right." if exchange.step == "place-top-left" else "Bottom left.")


@mutant("media.hidden-not-shown")
def hidden_colour_is_shown(exchange: Exchange) -> Exchange:
    """A transparent pixel has the colour that is stored for it."""
    return edit_text(exchange, lambda _: "Blue.")


@mutant("media.streamed-as-plain")
def stream_sees_nothing(exchange: Exchange) -> Exchange:
    """The streamed answer is about another image."""
    return edit_text(exchange, lambda text: f"{text} Or blue.")


@mutant("media.image-answered")
def image_breaks_the_server(exchange: Exchange) -> Exchange:
    """A request with an image gets a 500."""
    return refuse(exchange, 500)


@mutant("media.image-alone-answered")
def image_needs_a_text(exchange: Exchange) -> Exchange:
    """A message that consists of an image gets a 400."""
    return refuse(exchange, 400)
