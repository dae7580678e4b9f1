"""Mutants of media behind URLs: they are refused, not fetched, or answered although nothing is there."""

from __future__ import annotations

from typing import TYPE_CHECKING

from conformance.proof.editing.responses import accept, refuse
from conformance.proof.mutants.media.losses import one_answer
from conformance.proof.mutants.mutant import mutant

if TYPE_CHECKING:
    from conformance.exchange import Exchange


UNFETCHED = one_answer("media.url-images-told-apart", "URLs of images are not fetched.", "url-image-*")
UNFETCHED_VIDEOS = one_answer("media.url-videos-told-apart", "URLs of videos are not fetched.", "url-video-*")
UNFETCHED_AUDIO = one_answer("media.url-audio-told-apart", "URLs of audio files are not fetched.", "url-audio-*")


@mutant("media.url-fetched")
def url_is_refused(exchange: Exchange) -> Exchange:
    """A URL is refused, because only base64 is supported."""
    return refuse(exchange)


@mutant("media.bad-url-refused")
def missing_file_is_ignored(exchange: Exchange) -> Exchange:
    """A URL without a file is ignored, and the request answered."""
    return accept(exchange)


@mutant("media.url-no-server-error")
def redirect_breaks_the_server(exchange: Exchange) -> Exchange:
    """A redirect to a file raises, and the request gets a 500."""
    return refuse(exchange, 500)
