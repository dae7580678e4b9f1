"""Mutants of media as paths: they are refused, not read, or answered although nothing is there."""

from __future__ import annotations

from typing import TYPE_CHECKING

from conformance.proof.editing.responses import accept, refuse
from conformance.proof.mutants.media.losses import one_answer
from conformance.proof.mutants.mutant import Mutant, mutant

if TYPE_CHECKING:
    from conformance.exchange import Exchange


@mutant("media.path-read")
def path_is_refused(exchange: Exchange) -> Exchange:
    """Paths are refused; only base64 is read."""
    return refuse(exchange)


@mutant("media.bad-path-refused")
def path_of_no_file_is_ignored(exchange: Exchange) -> Exchange:
    """A path without a file is ignored, and the request answered."""
    return accept(exchange)


UNREAD_IMAGES = one_answer("media.path-images-told-apart", "Paths of images are not read.", "path-image-*")
UNREAD_VIDEOS = one_answer("media.path-videos-told-apart", "Paths of videos are not read.", "path-video-*")
UNREAD_AUDIO = one_answer("media.path-audio-told-apart", "Paths of audio files are not read.", "path-audio-*")
NO_AVI = Mutant("media.path-video-formats", "A video as AVI is refused.", refuse, steps="path-video-avi")
NO_FLAC = Mutant("media.path-audio-formats", "An audio file as FLAC is refused.", refuse, steps="path-audio-flac")
