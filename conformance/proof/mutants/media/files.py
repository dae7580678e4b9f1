"""Mutants of files of media: allowed ones are refused, and others answered."""

from __future__ import annotations

from typing import TYPE_CHECKING

from conformance.proof.editing.responses import accept, refuse
from conformance.proof.mutants.mutant import Mutant, mutant

if TYPE_CHECKING:
    from conformance.exchange import Exchange


@mutant("media.twenty-accepted")
def twenty_images_are_too_many(exchange: Exchange) -> Exchange:
    """A request with twenty images is refused."""
    return refuse(exchange)


@mutant("media.more-refused")
def more_images_are_cut(exchange: Exchange) -> Exchange:
    """A request with more images than allowed is answered."""
    return accept(exchange)


LARGEST_IMAGE_REFUSED = Mutant(
    "media.largest-image-accepted", "An image of exactly the limit is refused.", refuse, steps="size-*-largest"
)
LARGEST_AUDIO_REFUSED = Mutant(
    "media.largest-audio-accepted", "An audio file of exactly the limit is refused.", refuse, steps="size-*-largest"
)


@mutant("media.larger-refused")
def size_is_not_limited(exchange: Exchange) -> Exchange:
    """A file beyond the limit is answered."""
    return accept(exchange)


@mutant("media.no-server-error")
def unusual_image_breaks_the_server(exchange: Exchange) -> Exchange:
    """The decoder raises at an animation, and the request gets a 500."""
    return refuse(exchange, 500)


@mutant("media.broken-refused")
def broken_image_is_ignored(exchange: Exchange) -> Exchange:
    """A broken image is ignored, and the request answered."""
    return accept(exchange)
