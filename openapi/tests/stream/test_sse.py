"""The event-stream decoder: events, anomalies, and that segment boundaries make no difference."""

from __future__ import annotations

import re
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from openapi.stream.anomaly import AnomalyKind
from openapi.stream.sse import MAX_PER_KIND, Decoded, Decoder, Event, decode, encode

DATA = ['{"content":"你好 \u2028 \u0085 🙂"}', '{"content":"a"}', "[DONE]"]
PLAIN = b"".join(encode(data) for data in DATA)

EQUIVALENT = {
    "LF": PLAIN,
    "CRLF": PLAIN.replace(b"\n", b"\r\n"),
    "CR": PLAIN.replace(b"\n", b"\r"),
    "no space after the colon": PLAIN.replace(b"data: ", b"data:"),
    "comments between events": b": ping\n\n" + PLAIN.replace(b"\n\n", b"\n\n:\n\n: still here\n"),
    "comment inside an event": PLAIN.replace(b"data: [", b": note\ndata: ["),
    "other fields": b"retry: 3000\n\n" + PLAIN.replace(b"data: ", b"id: 7\nevent: message\ndata: "),
    "many blank lines": PLAIN.replace(b"\n\n", b"\n\n\n\n"),
}


def whole(body: bytes) -> Decoded:
    return decode([(0.0, body)])


@pytest.mark.parametrize("body", EQUIVALENT.values(), ids=EQUIVALENT)
@pytest.mark.parametrize("size", [1, 2, 7, 10**9])
def test_equivalent_encodings_give_the_same_events_and_no_anomaly(body: bytes, size: int) -> None:
    decoded = decode((float(at), body[at : at + size]) for at in range(0, len(body), size))
    assert [event.data for event in decoded.events] == DATA
    assert decoded.anomalies == ()
    assert decoded.unterminated == ""


ANOMALOUS = {
    AnomalyKind.INVALID_UTF8: (b"data: a\xffb\n\n", 7),
    AnomalyKind.UNKNOWN_FIELD: (b"data: a\n\nEngine callback timeout: token\n", 9),
    AnomalyKind.NO_COLON_LINE: (b"data: a\n\nFailed to get engine response\n", 9),
    AnomalyKind.BAD_RETRY: (b"retry: soon\n\n", 0),
    AnomalyKind.NUL_IN_ID: (b"id: a\0b\ndata: x\n\n", 0),
    AnomalyKind.EVENT_WITHOUT_DATA: (b": hi\nevent: ping\n\n", 5),
    AnomalyKind.UNTERMINATED_EVENT: (b"data: a\n\ndata: [DONE]\n", 9),
    AnomalyKind.BOM: (b"\xef\xbb\xbfdata: a\n\n", 0),
    AnomalyKind.MIXED_LINE_ENDS: (b"data: a\n\r\n", 8),
}


@pytest.mark.parametrize(("kind", "body", "offset"), [(kind, *case) for kind, case in ANOMALOUS.items()])
@pytest.mark.parametrize("size", [1, 10**9])
def test_each_kind_of_anomaly_is_reported_alone_at_its_offset(
    kind: AnomalyKind, body: bytes, offset: int, size: int
) -> None:
    decoded = decode((0.0, body[at : at + size]) for at in range(0, len(body), size))
    assert [(anomaly.kind, anomaly.offset) for anomaly in decoded.anomalies] == [(kind, offset)]
    assert decoded.anomaly_counts == {kind: 1}


def test_every_kind_of_anomaly_has_a_test_case_and_a_meaning() -> None:
    assert set(AnomalyKind) == set(ANOMALOUS) | {AnomalyKind.UNREAD_REST}
    assert all(kind.meaning for kind in AnomalyKind)
    assert [kind for kind in AnomalyKind if kind.breaks_standard] == [AnomalyKind.INVALID_UTF8]


@pytest.mark.parametrize("size", [1, 10**9])
@pytest.mark.parametrize(
    ("body", "events", "offset"),
    [(b"data: x\n\n" * 5, 2, 18), (b"data: x\n\n" + b"\n" * 50, 1, 27), (b": x\n" * 50 + b"data: y\n\n", 0, 80)],
)
def test_a_stream_is_not_read_beyond_the_limit(body: bytes, events: int, offset: int, size: int) -> None:
    decoded = decode([(0.0, body[at : at + size]) for at in range(0, len(body), size)], max_events=2)
    assert len(decoded.events) == events
    assert [(anomaly.kind, anomaly.offset) for anomaly in decoded.anomalies] == [(AnomalyKind.UNREAD_REST, offset)]
    assert decoded.unterminated == ""


def test_anomalies_are_recorded_up_to_a_limit_and_all_counted() -> None:
    decoded = whole(b"bare text\n" * 1000)
    assert len(decoded.anomalies) == MAX_PER_KIND
    assert decoded.anomaly_counts == {AnomalyKind.NO_COLON_LINE: 1000}


def test_fields_follow_the_standard() -> None:
    body = b"id: 1\nevent: add\ndata: a\ndata:  b\ndata\ndata:\n\ndata: c\n\nid\ndata: d\n\n"
    assert whole(body).events == (
        Event("a\n b\n\n", "add", "1", 0.0, 0),
        Event("c", "message", "1", 0.0, body.index(b"data: c")),
        Event("d", "message", "", 0.0, body.index(b"id\n")),
    )


def test_an_empty_data_line_is_an_event_and_a_block_without_data_is_not() -> None:
    assert [event.data for event in whole(b"data:\n\nid: 1\n\n\n\n").events] == [""]


def test_an_event_arrives_with_the_segment_that_completes_it() -> None:
    segments = [(1.0, b"da"), (2.0, b"ta: a\n"), (3.0, b"\ndata: b\n\n"), (4.0, b"data: c"), (5.0, b"\n\n")]
    assert [(event.data, event.at_s) for event in decode(segments).events] == [("a", 3.0), ("b", 3.0), ("c", 5.0)]


def test_a_carriage_return_completes_an_event_immediately() -> None:
    decoder = Decoder()
    assert [event.data for event in decoder.feed(b"data: a\r\n\r", 1.0)] == ["a"]
    assert decoder.feed(b"\n", 2.0) == []
    assert decoder.close(2.0) == []
    assert decoder.line_ends == {"CRLF"}


def test_offsets_count_from_the_start_of_the_body_across_segments() -> None:
    body = ": 你好\r\n\r\ndata: 你好\r\n\r\n: x\r\nid: 3\r\ndata: b\r\n\r\n".encode()
    decoded = decode((0.0, body[at : at + 1]) for at in range(len(body)))
    assert [event.offset for event in decoded.events] == [body.index(b"data: "), body.index(b"id: 3")]


def test_a_byte_order_mark_is_not_part_of_the_first_line() -> None:
    decoded = whole(b"\xef\xbb\xbfdata: a\xff\n\n\xef\xbb\xbfdata: b\n\n")
    assert [(event.data, event.offset) for event in decoded.events] == [("a\ufffd", 3)]
    assert [(anomaly.kind, anomaly.offset) for anomaly in decoded.anomalies] == [
        (AnomalyKind.BOM, 0),
        (AnomalyKind.INVALID_UTF8, 10),
        (AnomalyKind.UNKNOWN_FIELD, 13),
    ]


def test_mixed_line_ends_are_reported_once() -> None:
    decoded = whole(b"data: a\n\r\ndata: b\r\r")
    assert decoded.line_ends == frozenset({"LF", "CR", "CRLF"})
    assert decoded.anomaly_counts == {AnomalyKind.MIXED_LINE_ENDS: 1}


def test_comments_spaces_and_line_ends_are_counted() -> None:
    decoded = whole(b": a\n:b\ndata:x\ndata: y\ndata\n\n")
    assert (decoded.comments, decoded.unspaced, decoded.line_ends) == (2, 1, frozenset({"LF"}))


@pytest.mark.parametrize("tail", [b"data: [DONE]", b"data: [DONE]\n", b"data: [DONE]\r", b"id: 1\ndata: [DONE]"])
def test_a_last_event_without_a_blank_line_is_reported_and_not_dispatched(tail: bytes) -> None:
    decoded = whole(b"data: a\n\n" + tail)
    assert [event.data for event in decoded.events] == ["a"]
    assert decoded.unterminated == "[DONE]"


def test_a_named_event_without_data_is_unterminated_too() -> None:
    assert whole(b"event: error\n").anomaly_counts == {AnomalyKind.UNTERMINATED_EVENT: 1}


def test_a_comment_or_an_id_at_the_end_is_not_an_anomaly() -> None:
    assert whole(b"data: a\n\n: bye").anomalies == ()
    assert whole(b"data: a\n\nid: 3\n").anomalies == ()


@given(st.text(st.characters(exclude_categories=["Cs"])))
@settings(derandomize=True, max_examples=200, deadline=None)
def test_encoded_data_decodes_to_the_same_data(data: str) -> None:
    decoded = whole(encode(data))
    assert [event.data for event in decoded.events] == [re.sub("\r\n|\r", "\n", data)]
    assert decoded.anomalies == ()
    assert encode(data.encode()) == encode(data)


PIECES = st.sampled_from(
    [
        *(b"\n", b"\r", b"\r\n", b":", b" ", b"data", b"data: ", b"id:", b"event: ", b"retry: 5", b"\0", b"{}", b"7"),
        *(b"\xef\xbb\xbf", b"\xe2\x80\xa8", "你".encode(), b"\xff", b"\xe4\xbd"),
    ]
)


@given(st.lists(PIECES, max_size=30), st.lists(st.integers(0, 90), max_size=8))
@settings(derandomize=True, max_examples=500, deadline=None)
def test_segment_boundaries_change_only_arrival_times(pieces: list[bytes], cuts: list[int]) -> None:
    body = b"".join(pieces)
    marks = [0, *sorted(min(cut, len(body)) for cut in cuts), len(body)]
    cut_up = decode((0.0, body[start:end]) for start, end in pairwise(marks))
    byte_by_byte = decode((0.0, body[at : at + 1]) for at in range(len(body)))
    assert cut_up == whole(body)
    assert byte_by_byte == whole(body)


@given(st.lists(PIECES, max_size=30))
@settings(derandomize=True, max_examples=500, deadline=None)
def test_events_are_those_of_a_literal_implementation_of_the_standard(pieces: list[bytes]) -> None:
    body = b"".join(pieces)
    assert [(event.event, event.data, event.id) for event in whole(body).events] == list(literal(body))


def literal(body: bytes) -> list[tuple[str, str, str]]:
    """Apply the algorithm of the standard to the whole text, with its variable names and without optimization."""
    text = body.decode(errors="replace").removeprefix("\ufeff")
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")[:-1]  # an incomplete line is ignored
    events, data_buffer, event_type, last_event_id = [], "", "", ""
    for line in lines:
        if line == "":
            if data_buffer:
                events.append((event_type or "message", data_buffer[:-1], last_event_id))
            data_buffer, event_type = "", ""
            continue
        if line.startswith(":"):
            continue
        field, _, value = line.partition(":")
        value = value[1:] if value.startswith(" ") else value
        if field == "event":
            event_type = value
        elif field == "data":
            data_buffer += value + "\n"
        elif field == "id" and "\0" not in value:
            last_event_id = value
    return events
