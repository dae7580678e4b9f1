"""The records of a run take a limited amount of memory, whatever a server sends."""

from __future__ import annotations

import hashlib

from conformance.client.connection import ReceivedHead
from conformance.client.recording import EXCERPT_BYTES, KeptBytes, Recording
from conformance.tests.raw_server import KEY

HEAD = ReceivedHead(200, b"OK", "HTTP/1.1", ((b"content-type", b"application/json"),))


def record(kept: KeptBytes, body: bytes, head: ReceivedHead = HEAD) -> Recording:
    recording = Recording(max_body_bytes=10**8, kept=kept)
    recording.open(head)
    for at in range(0, len(body), 1000):
        recording.add(body[at : at + 1000])
    recording.complete = True
    recording.end()
    return recording


def test_beyond_the_total_the_beginning_the_end_and_the_digest_are_kept() -> None:
    kept = KeptBytes(100_000, 30_000)
    sizes = []
    for at in range(20):
        body = b"%d" % at + b"x" * 50_000 + KEY.encode()
        recording = record(kept, body)
        data = b"".join(recording.take_segments())
        sizes.append(len(data))
        if recording.failure is None:
            assert data == body
        else:
            assert recording.failure.kind == "not-kept"
            assert hashlib.sha256(body).hexdigest() in recording.failure.detail
            assert not recording.complete
            assert data in (b"", body[:EXCERPT_BYTES] + body[-EXCERPT_BYTES:])
    assert sizes[0] > 50_000
    assert sum(sizes) < 130_000


def test_headers_count_too() -> None:
    kept = KeptBytes(10_000, 10_000)
    many = ReceivedHead(200, b"OK", "HTTP/1.1", ((b"a", b"b"),) * 1000)
    headers = [record(kept, b"", many).head for _ in range(20)]
    assert sum(len(head.headers) for head in headers if head is not None) < 100


def test_a_small_answer_is_kept_after_a_large_one_was_not() -> None:
    kept = KeptBytes(10_000, 10_000)
    assert record(kept, b"x" * 50_000).failure is not None
    assert record(kept, b"{}").failure is None


def test_pieces_of_one_segment_count_as_one() -> None:
    recording = Recording(max_body_bytes=10**8, kept=KeptBytes(20_000, 0))
    recording.open(HEAD)
    for _ in range(1000):  # they arrive within less than a tenth of a millisecond, or a little more now and then
        recording.add(b"x")
    assert len(b"".join(recording.take_segments())) == 1000
