"""Mutants of media: they are dropped or confused, not counted, refused, or answered although they are broken."""

from __future__ import annotations

from typing import TYPE_CHECKING

from conformance.proof.editing.answers import edit_text, edit_usage
from conformance.proof.editing.logprobs import edit_each, forget_the_prompt
from conformance.proof.editing.responses import accept, refuse
from conformance.proof.editing.streams import edit_deltas
from conformance.proof.mutants.mutant import Mutant, mutant

if TYPE_CHECKING:
    from conformance.exchange import Exchange


def _guess(exchange: Exchange) -> Exchange:
    if not exchange.is_stream:
        return edit_text(exchange, lambda _: "Grey.")
    parts = iter(["Grey."])
    return edit_deltas(exchange, lambda delta: delta.update(content=next(parts, "")))


def _one_answer(check: str, defect: str, steps: str) -> Mutant:
    """Return a mutant of a server whose answer does not depend on the media."""
    return Mutant(check, defect, _guess, steps=steps)


def _unread(check: str, defect: str, steps: str) -> Mutant:
    """Return a mutant of a server whose log-probabilities do not depend on the media."""
    return Mutant(check, defect, lambda exchange: edit_each(exchange, forget_the_prompt), steps=steps)


def _uncounted(check: str, defect: str) -> Mutant:
    """Return a mutant of a server that counts one token for the prompt."""

    def of_one_token(exchange: Exchange) -> Exchange:
        return edit_usage(
            exchange, lambda usage: usage.update(prompt_tokens=1, total_tokens=usage["completion_tokens"] + 1)
        )

    return Mutant(check, defect, of_one_token)


DROPPED = _one_answer("media.images-told-apart", "Images are dropped, and the model guesses.", "image-???*")
DROPPED_IN_STREAMS = _one_answer(
    "media.images-told-apart-in-streams", "Images are dropped in streams.", "image-*-streamed"
)
SORTED = _one_answer("media.order-kept", "Images are sorted by their content.", "images-*")
FORGOTTEN = _one_answer("media.history-kept", "Images of earlier turns are dropped.", "image-*-earlier")
FIRST_UNREAD = _unread("media.every-image-read", "The first of three images is not read.", "images-three*")
END_OF_VIDEO_UNREAD = _unread("media.whole-video-read", "Only the first picture of a video is read.", "video-[st]*")
END_OF_AUDIO_UNREAD = _unread("media.whole-audio-read", "The end of an audio file is not read.", "audio-[oa]*")
SAME_VIDEOS = _one_answer("media.videos-told-apart", "Videos are dropped, and the model guesses.", "video-*")
SAME_TONES = _one_answer("media.audio-told-apart", "Audio is dropped, and the model guesses.", "audio-*")
UNFETCHED = _one_answer("media.url-images-told-apart", "URLs of images are not fetched.", "url-image-*")
UNFETCHED_VIDEOS = _one_answer("media.url-videos-told-apart", "URLs of videos are not fetched.", "url-video-*")
UNFETCHED_AUDIO = _one_answer("media.url-audio-told-apart", "URLs of audio files are not fetched.", "url-audio-*")
IMAGE_UNCOUNTED = _uncounted("media.image-counted", "The tokens of an image are not counted.")
SECOND_UNCOUNTED = _uncounted("media.each-image-counted", "The tokens of a second image are not counted.")
OTHERS_UNCOUNTED = _uncounted("media.other-formats-counted", "The tokens of a WebP and a GIF are not counted.")
VIDEO_UNCOUNTED = _uncounted("media.video-counted", "The tokens of a video are not counted.")
AUDIO_UNCOUNTED = _uncounted("media.audio-counted", "The tokens of an audio file are not counted.")


@mutant("media.colours-as-shown", steps="images-three")
def images_are_reversed(exchange: Exchange) -> Exchange:
    """Three images reach the model in reverse order."""
    return edit_text(exchange, lambda _: "Blue, then green, then red.")


@mutant("media.places-as-shown", steps="place-*")
def images_are_mirrored(exchange: Exchange) -> Exchange:
    """Left and right of images are exchanged."""
    return edit_text(exchange, lambda _: "Top right." if exchange.step == "place-top-left" else "Bottom left.")


@mutant("media.video-in-order")
def video_runs_backwards(exchange: Exchange) -> Exchange:
    """The pictures of a video reach the model in reverse order."""
    return edit_text(exchange, lambda _: "Blue, then red.")


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


@mutant("media.twenty-accepted")
def twenty_images_are_too_many(exchange: Exchange) -> Exchange:
    """A request with twenty images is refused."""
    return refuse(exchange)


@mutant("media.more-refused")
def more_images_are_cut(exchange: Exchange) -> Exchange:
    """A request with more images than allowed is answered."""
    return accept(exchange)


@mutant("media.url-fetched")
def url_is_refused(exchange: Exchange) -> Exchange:
    """A URL is refused, because only base64 is supported."""
    return refuse(exchange)


@mutant("media.bad-url-refused")
def missing_file_is_ignored(exchange: Exchange) -> Exchange:
    """A URL without a file is ignored, and the request answered."""
    return accept(exchange)


@mutant("media.path-read")
def path_is_refused(exchange: Exchange) -> Exchange:
    """Paths are refused; only base64 is read."""
    return refuse(exchange)


@mutant("media.bad-path-refused")
def path_of_no_file_is_ignored(exchange: Exchange) -> Exchange:
    """A path without a file is ignored, and the request answered."""
    return accept(exchange)


UNREAD_IMAGES = _one_answer("media.path-images-told-apart", "Paths of images are not read.", "path-image-*")
UNREAD_VIDEOS = _one_answer("media.path-videos-told-apart", "Paths of videos are not read.", "path-video-*")
UNREAD_AUDIO = _one_answer("media.path-audio-told-apart", "Paths of audio files are not read.", "path-audio-*")
NO_AVI = Mutant("media.path-video-formats", "A video as AVI is refused.", refuse, steps="path-video-avi")
NO_FLAC = Mutant("media.path-audio-formats", "An audio file as FLAC is refused.", refuse, steps="path-audio-flac")
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


@mutant("media.url-no-server-error")
def redirect_breaks_the_server(exchange: Exchange) -> Exchange:
    """A redirect to a file raises, and the request gets a 500."""
    return refuse(exchange, 500)


@mutant("media.broken-refused")
def broken_image_is_ignored(exchange: Exchange) -> Exchange:
    """A broken image is ignored, and the request answered."""
    return accept(exchange)
