"""The program that decodes media, in a process of its own with limits on memory and CPU time.

    python -m reference_server.media.decoder

It reads jobs from stdin and writes results to stdout, each as one line of JSON and the bytes that the line counts. A
file can crash or exhaust this process, which is then started again.
"""

from __future__ import annotations

import io
import json
import os
import resource
import sys
import time
from typing import TYPE_CHECKING, Any, BinaryIO, Final

if TYPE_CHECKING:
    from collections.abc import Callable

Arrays = tuple[dict[str, Any], bytes]

NICENESS: Final = 10
"""Decoding gives way to the threads that generate tokens."""
FRAMES_PER_S: Final = 2
LEAST_FRAMES: Final = 4
IMAGE_NAMES: Final = {"JPEG": {"JPG", "JPEG"}, "PNG": {"PNG"}, "GIF": {"GIF"}, "WEBP": {"WEBP"}, "BMP": {"BMP"}}
CONTAINER_NAMES: Final = {
    "mov,mp4,m4a,3gp,3g2,mj2": {"MP4"},
    "avi": {"AVI"},
    "asf": {"WMV"},
    "mp3": {"MP3"},
    "wav": {"WAV"},
    "flac": {"FLAC"},
    "matroska,webm": {"MKV", "WEBM"},
    "ogg": {"OGG"},
}


class RefusedFile(Exception):
    """A file is refused; the message is the reason."""


def decode_image(data: bytes, job: dict[str, Any]) -> Arrays:
    """Return one picture of the size that the model takes, or of its own; of an animation, the first."""
    from PIL import Image

    Image.MAX_IMAGE_PIXELS = None  # the header is checked here
    try:
        with Image.open(
            io.BytesIO(data), formats=[name for name, own in IMAGE_NAMES.items() if own & {*job["formats"]}]
        ) as image:
            check_size(image.width, image.height, job)
            side = job["side"]
            if side is not None:
                image.draft("RGB", (side, side))  # JPEG: decodes at a fraction of the size
            picture = image.convert("RGBA") if image.mode in ("P", "LA", "PA") else image
            if picture.mode == "RGBA":
                ground = Image.new("RGBA", picture.size, (255, 255, 255, 255))
                picture = Image.alpha_composite(ground, picture)
            picture = picture.convert("RGB")
            if side is not None:
                picture = picture.resize((side, side), Image.Resampling.BOX)
            return {"shape": [1, picture.height, picture.width, 3]}, picture.tobytes()
    except RefusedFile:
        raise
    except MemoryError:
        raise
    except Exception as error:  # a broken file can raise any exception of its reader
        raise RefusedFile(_unreadable(job)) from error


def decode_video(data: bytes, job: dict[str, Any]) -> Arrays:
    """Return pictures evenly spaced over the time of a video."""
    import av

    if job["side"] is None:
        return _decode_large_video(data, job)
    side, wanted = job["side"], job["frames"]
    with _open(data, job) as container:
        stream = next(iter(container.streams.video), None)
        if stream is None:
            raise RefusedFile(_unreadable(job))
        check_size(stream.width, stream.height, job)
        pictures: list[tuple[float, bytes]] = []
        for frame in container.decode(stream):
            check_size(frame.width, frame.height, job)
            at = float(frame.time or 0.0)
            _check_duration(at, job)
            small = frame.reformat(side, side, "rgb24", interpolation="AREA")
            pictures.append((at, small.to_ndarray().tobytes()))
            if len(pictures) > job["most_frames"]:
                raise RefusedFile(f"the video has more than {job['most_frames']} pictures")
        del av
    if not pictures:
        raise RefusedFile(_unreadable(job))
    chosen = [pictures[min(len(pictures) - 1, int((at + 0.5) * len(pictures) / wanted))][1] for at in range(wanted)]
    return {"shape": [wanted, side, side, 3]}, b"".join(chosen)


def _decode_large_video(data: bytes, job: dict[str, Any]) -> Arrays:
    """Return pictures of their own size, evenly spaced: two a second, at most as many as the job allows.

    All pictures of a video would not fit into memory, so they are counted before the first is decoded.
    """
    with _open(data, job) as container:
        stream = next(iter(container.streams.video), None)
        if stream is None:
            raise RefusedFile(_unreadable(job))
        check_size(stream.width, stream.height, job)
        times = sorted(
            float(packet.pts * stream.time_base) for packet in container.demux(stream) if packet.pts is not None
        )
        size = max(1, stream.width * stream.height)
    if not times:
        raise RefusedFile(_unreadable(job))
    if len(times) > job["most_frames"]:
        raise RefusedFile(f"the video has more than {job['most_frames']} pictures")
    duration_s = (times[-1] - times[0]) * len(times) / max(1, len(times) - 1)
    _check_duration(duration_s, job)
    most = min(job["frames"], len(times), max(1, job["most_pixels"] // size))
    wanted = min(most, max(LEAST_FRAMES, round(duration_s * FRAMES_PER_S)))
    chosen = [int((at + 0.5) * len(times) / wanted) for at in range(wanted)]
    shape: tuple[int, int] | None = None
    pictures: list[bytes] = []
    with _open(data, job) as container:
        for at, frame in enumerate(container.decode(container.streams.video[0])):
            check_size(frame.width, frame.height, job)
            if at not in chosen:
                continue
            shape = shape or (frame.width, frame.height)
            pictures.append(frame.reformat(*shape, "rgb24").to_ndarray().tobytes())
            if len(pictures) == wanted:
                break
    if shape is None:
        raise RefusedFile(_unreadable(job))
    frames_per_s = len(pictures) / duration_s if duration_s > 0 else float(FRAMES_PER_S)
    return {"shape": [len(pictures), shape[1], shape[0], 3], "frames_per_s": frames_per_s}, b"".join(pictures)


def decode_audio(data: bytes, job: dict[str, Any]) -> Arrays:
    """Return the samples of one channel at the rate that the model takes."""
    import av

    parts: list[bytes] = []
    with _open(data, job) as container:
        stream = next(iter(container.streams.audio), None)
        if stream is None:
            raise RefusedFile(_unreadable(job))
        resampler = av.AudioResampler(format="flt", layout="mono", rate=job["rate_hz"])
        samples = 0
        for frame in container.decode(stream):
            for piece in resampler.resample(frame):
                parts.append(piece.to_ndarray().tobytes())
                samples += piece.samples
            _check_duration(samples / job["rate_hz"], job)
        parts += [piece.to_ndarray().tobytes() for piece in resampler.resample(None)]
    if not any(parts):
        raise RefusedFile(_unreadable(job))
    return {"rate_hz": job["rate_hz"]}, b"".join(parts)


def _open(data: bytes, job: dict[str, Any]) -> Any:
    import av

    container = av.open(io.BytesIO(data), mode="r", metadata_errors="replace")
    if not CONTAINER_NAMES.get(container.format.name, set()) & {*job["formats"]}:
        raise RefusedFile(_unreadable(job))
    if container.duration:
        _check_duration(container.duration / 1e6, job)
    return container


def check_size(width: int, height: int, job: dict[str, Any]) -> None:
    """Refuse a picture whose header states too many pixels."""
    if max(width, height) > job["longest_side"] or width * height > job["most_pixels"]:
        limit = f"at most {job['longest_side']} a side and {job['most_pixels']} in all are allowed"
        raise RefusedFile(f"the picture has {width} x {height} pixels: {limit}")


def _check_duration(seconds: float, job: dict[str, Any]) -> None:
    if seconds > job["duration_s"]:
        raise RefusedFile(f"the file lasts longer than {job['duration_s']:g} s")


def _unreadable(job: dict[str, Any]) -> str:
    return f"the content is not a readable file of the formats {', '.join(job['formats'])}"


DECODERS: Final[dict[str, Callable[[bytes, dict[str, Any]], Arrays]]] = {
    "image": decode_image,
    "video": decode_video,
    "audio": decode_audio,
}


def decode(job: dict[str, Any], data: bytes) -> Arrays:
    """Return the result of one job: its description and its bytes."""
    resource.setrlimit(resource.RLIMIT_CPU, (int(time.process_time()) + job["cpu_s"] + 1, resource.RLIM_INFINITY))
    try:
        return DECODERS[job["kind"]](data, job)
    except RefusedFile as error:
        return {"refused": str(error)}, b""
    except MemoryError:
        return {"refused": f"decoding needs more than {job['memory_bytes']} bytes of memory"}, b""
    except Exception:  # a broken file can raise any exception of its reader
        return {"refused": _unreadable(job)}, b""


def serve(jobs: BinaryIO, results: BinaryIO) -> None:
    """Answer jobs until the end of the input."""
    while line := jobs.readline():
        job = json.loads(line)
        description, data = decode(job, jobs.read(job["size"]))
        results.write(json.dumps({**description, "size": len(data)}).encode() + b"\n" + data)
        results.flush()


def main() -> None:
    """Limit this process and answer jobs on stdin and stdout.

    The first argument is the limit of its memory in bytes.
    """
    os.nice(NICENESS)
    results = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # libraries that print must not write into the results
    import av.logging
    from PIL import Image

    Image.preinit()
    av.logging.set_level(av.logging.PANIC)
    memory_bytes = int(sys.argv[1])
    resource.setrlimit(resource.RLIMIT_AS, (memory_bytes, memory_bytes))
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    serve(sys.stdin.buffer, results)


if __name__ == "__main__":
    main()
