"""One request and its answer, recorded byte by byte with arrival times, and the views of it that checks use.

The recorded data are frozen and can be converted to JSON and back without loss, so that a run can be judged again
offline. Everything else is computed from them when first used. Times are in seconds from just before the request was
sent.
"""

from __future__ import annotations

import base64
import json
import re
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final, Literal, get_args

from conformance.errors import HarnessError
from conformance.view_cache import view
from openapi.stream import event_order as stream
from openapi.stream import sse
from openapi.stream.accumulated_choice import AccumulatedChoice, accumulate_answer
from openapi.stream.strict_json import NOT_JSON, JsonResult, quote, read_json

if TYPE_CHECKING:
    from collections.abc import Mapping

Headers = tuple[tuple[str, str], ...]
FailureKind = Literal[
    "connect", "tls", "timeout", "reset", "protocol", "coding", "too-large", "disconnected-by-us", "not-kept"
]

SWITCHED: Final = 101
"""Status of an answer (Switching Protocols) after which another protocol follows, so that there is nothing to judge."""
_LOOKS_LIKE_EVENTS: Final = re.compile(rb"(?:\xef\xbb\xbf)?[\r\n]*(?:data|event|id|retry)?:")


@dataclass(frozen=True, slots=True)
class Request:
    """The request as it was sent. Secrets are already redacted."""

    method: str
    url: str
    headers: Headers
    body: bytes


@dataclass(frozen=True, slots=True)
class Segment:
    """Bytes of the body that arrived at the same time, without a content coding that the request accepts."""

    at_s: float
    data: bytes


@dataclass(frozen=True, slots=True)
class Response:
    """The answer. `complete` is False if the body was cut off; the failure of the exchange gives the reason.

    stalled_s: the longest time for which our own event loop was stalled during the exchange; 0 if that was below
    0.25 s. Bytes that arrived in a stall appear to have arrived at its end, all at once.
    """

    status: int
    reason: str
    http_version: str
    headers: Headers
    segments: tuple[Segment, ...]
    headers_at_s: float
    ended_at_s: float
    complete: bool
    stalled_s: float = 0.0


@dataclass(frozen=True, slots=True)
class Failure:
    """Why an exchange has no complete response; `detail` is one line."""

    kind: FailureKind
    detail: str


@dataclass(frozen=True)
class Exchange:
    """One request and its answer. `started_at` is ISO 8601 in UTC.

    An answer that was cut off has both a response and a failure.
    """

    id: str
    scenario: str
    step: str
    request: Request
    response: Response | None
    failure: Failure | None
    started_at: str

    @property
    def started_s(self) -> float:
        """When the request was sent, as Unix time."""
        return datetime.fromisoformat(self.started_at).timestamp()

    @property
    def status(self) -> int | None:
        """The status code; None without a response."""
        return None if self.response is None else self.response.status

    @property
    def complete(self) -> bool:
        """Whether a complete response was received."""
        return self.response is not None and self.response.complete

    def header(self, name: str) -> str | None:
        """Return the value of a response header, ignoring case; several are joined by ", " (RFC 9110, section 5.3)."""
        headers = () if self.response is None else self.response.headers
        values = [value for key, value in headers if key.lower() == name.lower()]
        return ", ".join(values) if values else None

    @property
    def content_type(self) -> str:
        """The media type without parameters, in lower case; empty without a Content-Type."""
        return (self.header("content-type") or "").partition(";")[0].strip().lower()

    @view
    def body(self) -> bytes:
        """The body of the response; empty without a response."""
        return b"" if self.response is None else b"".join(segment.data for segment in self.response.segments)

    @view
    def text(self) -> str:
        """The body decoded as UTF-8, with U+FFFD for invalid bytes."""
        return self.body.decode(errors="replace")

    @view
    def _reading(self) -> JsonResult:
        try:
            return read_json(self.body.decode())
        except UnicodeDecodeError as error:
            encoding = self.header("content-encoding")
            sent_as = f" (Content-Encoding: {encoding})" if encoding else ""
            return JsonResult(NOT_JSON, f"not UTF-8 at byte {error.start}{sent_as}")

    @property
    def json(self) -> Any:
        """The JSON value of the body, or `NOT_JSON`; then `json_error` gives the reason."""
        return self._reading.value

    @property
    def json_error(self) -> str:
        """Why the body is not valid JSON, in one line; empty if it is valid."""
        return self._reading.error

    @property
    def json_oddities(self) -> tuple[str, ...]:
        """Parts of the body on which JSON parsers disagree: duplicate keys, lone surrogates."""
        return self._reading.oddities

    @view
    def request_json(self) -> Any:
        """The JSON value of the request body in its encoding, or `NOT_JSON`. A byte order mark belongs to no value."""
        body = self.request.body
        return read_json(body.decode(json.detect_encoding(body), errors="replace")).value

    @view
    def is_stream(self) -> bool:
        """Whether this is an event stream, according to its media type or its first bytes."""
        return self.content_type == sse.MEDIA_TYPE or _LOOKS_LIKE_EVENTS.match(self.body) is not None

    @view
    def decoded(self) -> sse.Decoded:
        """The decoded event stream with its anomalies; without events if this is not a stream."""
        segments = self.response.segments if self.response is not None and self.is_stream else ()
        return sse.decode((segment.at_s, segment.data) for segment in segments)

    @property
    def events(self) -> tuple[sse.Event, ...]:
        """The events of the stream, in order."""
        return self.decoded.events

    @view
    def walk(self) -> stream.Walk:
        """The result of checking the order of events. Valid only if `is_stream`: an empty stream breaks some rules."""
        return stream.walk([event.data for event in self.events])

    @view
    def succeeded(self) -> bool:
        """Whether this is a complete 2xx answer that reports no error.

        An answer that we cut off on purpose has not succeeded: how it would have ended is unknown.
        """
        if self.status is None or not 200 <= self.status < 300 or not self.complete:
            return False
        return not self.walk.errors if self.is_stream else not stream.reports_error(self.json)

    @view
    def choices(self) -> Mapping[int, AccumulatedChoice]:
        """The accumulated choices of a streamed or plain answer, by index."""
        return self.walk.choices if self.is_stream else accumulate_answer(self.json)

    @property
    def usage(self) -> dict[str, Any] | None:
        """The last usage object of a streamed or plain answer, or None."""
        if self.is_stream:
            return self.walk.usages[-1][1] if self.walk.usages else None
        usage = self.json.get("usage") if isinstance(self.json, dict) else None
        return usage if isinstance(usage, dict) else None

    @property
    def first_choice(self) -> AccumulatedChoice | None:
        """The choice with the lowest index, which is 0 unless the server counts otherwise; None without choices."""
        return next(iter(self.choices.values()), None)

    def content(self, index: int | None = None) -> str | None:
        """Return the text of a choice, by default the first; "" if it has no text, None if it does not exist."""
        choice = self.first_choice if index is None else self.choices.get(index)
        return None if choice is None else choice.content

    def finish_reason(self, index: int | None = None) -> str | None:
        """Return the finish reason of a choice, by default the first; None if it has none or does not exist."""
        choice = self.first_choice if index is None else self.choices.get(index)
        return None if choice is None else choice.finish_reason

    def estimate_view_cost(self) -> int:
        """Return roughly how many bytes the cached views take: Python needs hundreds for each object of the JSON."""
        cost = 2000 + 4 * len(self.request.body)
        for segment in () if self.response is None else self.response.segments:
            data = segment.data
            cost += 4 * len(data) + 60 * data.count(b",") + 200 * data.count(b"{") + 500 * data.count(b"data:")
        return cost

    def to_dict(self) -> dict[str, Any]:
        """Return JSON data from which `from_dict` makes an equal exchange."""
        data: dict[str, Any] = asdict(self)
        data["request"]["body"] = _write_bytes(self.request.body)
        if self.response is not None:
            data["response"]["segments"] = [
                [segment.at_s, _write_bytes(segment.data)] for segment in self.response.segments
            ]
        return data

    @classmethod
    def from_dict(cls, data: Any) -> Exchange:
        """Make an exchange from the data that `to_dict` returned. Raises HarnessError for anything else."""
        try:
            request, response, failure = (data[part] for part in ("request", "response", "failure"))
            return cls(
                **{name: _read_text(data[name]) for name in ("id", "scenario", "step", "started_at")},
                request=Request(
                    **{name: _read_text(request[name]) for name in ("method", "url")},
                    headers=_read_headers(request["headers"]),
                    body=_read_bytes(request["body"]),
                ),
                response=None if response is None else _read_response(response),
                failure=None if failure is None else _read_failure(failure),
            )
        except (KeyError, TypeError, ValueError, OverflowError) as error:
            problem = f"missing field {error}" if isinstance(error, KeyError) else str(error)
            raise HarnessError(f"invalid recorded exchange: {problem}; record the run again") from error


def _write_bytes(data: bytes) -> str | dict[str, str]:
    try:
        return data.decode()
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(data).decode()}


def _read_bytes(data: Any) -> bytes:
    return base64.b64decode(data["base64"], validate=True) if isinstance(data, dict) else _read_text(data).encode()


def _read_text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(f"expected a string, got {quote(value)}")
    return value


def _read_headers(pairs: Any) -> Headers:
    return tuple((_read_text(name), _read_text(value)) for name, value in pairs)


def _read_response(data: Any) -> Response:
    return Response(
        status=int(data["status"]),
        reason=_read_text(data["reason"]),
        http_version=_read_text(data["http_version"]),
        headers=_read_headers(data["headers"]),
        segments=tuple(Segment(float(at_s), _read_bytes(part)) for at_s, part in data["segments"]),
        headers_at_s=float(data["headers_at_s"]),
        ended_at_s=float(data["ended_at_s"]),
        complete=bool(data["complete"]),
        # `held_up_s` is the name in older records; the oldest have neither.
        stalled_s=float(data.get("stalled_s", data.get("held_up_s", 0.0))),
    )


def _read_failure(data: Any) -> Failure:
    if data["kind"] not in get_args(FailureKind):
        raise ValueError(f"unknown failure kind {quote(data['kind'])}")
    return Failure(data["kind"], _read_text(data["detail"]))
