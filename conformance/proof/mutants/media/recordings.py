"""Mutants of videos and audio: they are dropped, read in part, turned round or not counted."""

from __future__ import annotations

from typing import TYPE_CHECKING

from conformance.proof.editing.answers import edit_text
from conformance.proof.mutants.media.losses import one_answer, uncounted, unread
from conformance.proof.mutants.mutant import mutant

if TYPE_CHECKING:
    from conformance.exchange import Exchange


END_OF_VIDEO_UNREAD = unread("media.whole-video-read", "Only the first picture of a video is read.", "video-[st]*")
END_OF_AUDIO_UNREAD = unread("media.whole-audio-read", "The end of an audio file is not read.", "audio-[oa]*")
SAME_VIDEOS = one_answer("media.videos-told-apart", "Videos are dropped, and the model guesses.", "video-*")
SAME_TONES = one_answer("media.audio-told-apart", "Audio is dropped, and the model guesses.", "audio-*")
VIDEO_UNCOUNTED = uncounted("media.video-counted", "The tokens of a video are not counted.")
AUDIO_UNCOUNTED = uncounted("media.audio-counted", "The tokens of an audio file are not counted.")


@mutant("media.video-in-order")
def video_runs_backwards(exchange: Exchange) -> Exchange:
    """The pictures of a video reach the model in reverse order."""
    return edit_text(exchange, lambda _: "Blue, then red.")
