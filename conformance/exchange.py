"""Exchange: one request and all that came back, byte by byte with arrival times; and how judges look at it.

The recorded data are frozen and go to JSON and back without loss, so that a run can be judged again offline. Everything
a judge asks for is computed from them when first asked. Times are seconds from just before the request was sent.
"""

from __future__ import annotations

import base64
import re
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, Literal, get_args

from conformance.client.curl import curl
from conformance.errors import HarnessError
from openapi.stream import event_order as stream
from openapi.stream import sse
from openapi.stream.accumulated_choice import Folded, fold_answer
from openapi.stream.strict_json import NOT_JSON, Reading, quote, read_json

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["Exchange", "Failure", "FailureKind", "Headers", "Request", "Response", "Segment", "curl"]

Headers = tuple[tuple[str, str], ...]
FailureKind = Literal["connect", "tls", "timeout", "reset", "protocol", "too-large", "disconnected-by-us"]

SWITCHED: Final = 101
"""The status (Switching Protocols) behind which a server speaks another protocol, so that no answer can be judged."""
_LOOKS_LIKE_EVENTS: Final = re.compile(rb"(?:\xef\xbb\xbf)?[\r\n]*(?:data|event|id|retry)?:")


@dataclass(frozen=True, slots=True)
class Request:
    """What was sent, headers as they went over the wire. Secrets are already redacted."""

    method: str
    url: str
    headers: Headers
    body: bytes


@dataclass(frozen=True, slots=True)
class Segment:
    """Bytes of the body that arrived together."""

    at_s: float
    data: bytes


@dataclass(frozen=True, slots=True)
class Response:
    """What came back. `complete` is False if the body was cut; the exchange's failure tells by whom.

    held_up_s: the longest time for which the client itself did not run meanwhile; 0 where that was below 0.25 s. What
    arrived then seems to have come at once.
    """

    status: int
    reason: str
    http_version: str
    headers: Headers
    segments: tuple[Segment, ...]
    headers_at_s: float
    ended_at_s: float
    complete: bool
    held_up_s: float = 0.0


@dataclass(frozen=True, slots=True)
class Failure:
    """Why an exchange has no complete response; `detail` is one plain line."""

    kind: FailureKind
    detail: str


@dataclass(frozen=True)
class Exchange:
    """One request and all that came back. `started_at` is ISO 8601 in UTC.

    There may be a response and a failure: an answer that was cut.
    """

    id: str
    scenario: str
    step: str
    request: Request
    response: Response | None
    failure: Failure | None
    started_at: str

    @property
    def status(self) -> int | None:
        """The status code; None without a response."""
        return None if self.response is None else self.response.status

    @property
    def complete(self) -> bool:
        """A response came, and all of it."""
        return self.response is not None and self.response.complete

    def header(self, name: str) -> str | None:
        """The value of a response header in any case; several are joined by ", " as RFC 9110 section 5.3 has it."""
        headers = () if self.response is None else self.response.headers
        values = [value for key, value in headers if key.lower() == name.lower()]
        return ", ".join(values) if values else None

    @property
    def content_type(self) -> str:
        """The media type without parameters, in lower case; empty without the header."""
        return (self.header("content-type") or "").partition(";")[0].strip().lower()

    @cached_property
    def body(self) -> bytes:
        """The response's body; empty without a response."""
        return b"" if self.response is None else b"".join(segment.data for segment in self.response.segments)

    @cached_property
    def text(self) -> str:
        """The body as UTF-8, U+FFFD in place of what is not."""
        return self.body.decode(errors="replace")

    @cached_property
    def _reading(self) -> Reading:
        try:
            return read_json(self.body.decode())
        except UnicodeDecodeError as error:
            encoding = self.header("content-encoding")
            sent_as = f" (Content-Encoding: {encoding}, though identity was asked for)" if encoding else ""
            return Reading(NOT_JSON, f"not UTF-8 at byte {error.start}{sent_as}")

    @property
    def json(self) -> Any:
        """The body's JSON value, or `NOT_JSON`; `json_error` tells why."""
        return self._reading.value

    @property
    def json_error(self) -> str:
        """Why the body is not JSON, in one line; empty if it is."""
        return self._reading.error

    @property
    def json_oddities(self) -> tuple[str, ...]:
        """What JSON parsers disagree on in the body: duplicate keys, lone surrogates."""
        return self._reading.oddities

    @cached_property
    def request_json(self) -> Any:
        """The JSON value that was sent, or `NOT_JSON`."""
        return read_json(self.request.body.decode(errors="replace")).value

    @cached_property
    def is_stream(self) -> bool:
        """The server says, or the body shows, that this is an event stream."""
        return self.content_type == sse.MEDIA_TYPE or _LOOKS_LIKE_EVENTS.match(self.body) is not None

    @cached_property
    def decoded(self) -> sse.Decoded:
        """The event stream with its flaws; without events if this is none."""
        segments = self.response.segments if self.response is not None and self.is_stream else ()
        return sse.decode((segment.at_s, segment.data) for segment in segments)

    @property
    def events(self) -> tuple[sse.Event, ...]:
        """The events of the stream, in order."""
        return self.decoded.events

    @cached_property
    def walk(self) -> stream.Walk:
        """The stream's order held against its rules. Look only if `is_stream`: an empty stream breaks some."""
        return stream.walk([event.data for event in self.events])

    @cached_property
    def succeeded(self) -> bool:
        """A complete 2xx answer in which nothing reports an error.

        An answer that we cut on purpose has not succeeded either: nobody knows how it would have ended.
        """
        if self.status is None or not 200 <= self.status < 300 or not self.complete:
            return False
        return not self.walk.errors if self.is_stream else not stream.reports_error(self.json)

    @cached_property
    def choices(self) -> Mapping[int, Folded]:
        """What each choice said, by index, streamed or plain."""
        return self.walk.choices if self.is_stream else fold_answer(self.json)

    @property
    def usage(self) -> dict[str, Any] | None:
        """The last usage object, streamed or plain; None if there is none."""
        if self.is_stream:
            return self.walk.usages[-1][1] if self.walk.usages else None
        usage = self.json.get("usage") if isinstance(self.json, dict) else None
        return usage if isinstance(usage, dict) else None

    def content(self, index: int = 0) -> str | None:
        """The text of a choice, "" if it has none; None if there is no such choice."""
        choice = self.choices.get(index)
        return None if choice is None else choice.content

    def finish_reason(self, index: int = 0) -> str | None:
        """Why a choice ended; None if it did not say or there is no such choice."""
        choice = self.choices.get(index)
        return None if choice is None else choice.finish_reason

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON data that `from_dict` turns back into an equal exchange."""
        data: dict[str, Any] = asdict(self)
        data["request"]["body"] = _write_bytes(self.request.body)
        if self.response is not None:
            data["response"]["segments"] = [
                [segment.at_s, _write_bytes(segment.data)] for segment in self.response.segments
            ]
        return data

    @classmethod
    def from_dict(cls, data: Any) -> Exchange:
        """Reads what `to_dict` wrote. Raises HarnessError for anything else."""
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
            problem = f"no {error}" if isinstance(error, KeyError) else str(error)
            raise HarnessError(f"this is no recorded exchange: {problem}; record the run again") from error


def _write_bytes(data: bytes) -> str | dict[str, str]:
    try:
        return data.decode()
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(data).decode()}


def _read_bytes(data: Any) -> bytes:
    return base64.b64decode(data["base64"], validate=True) if isinstance(data, dict) else _read_text(data).encode()


def _read_text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{quote(value)} should be a string")
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
        held_up_s=float(data.get("held_up_s", 0.0)),  # not in records of earlier versions
    )


def _read_failure(data: Any) -> Failure:
    if data["kind"] not in get_args(FailureKind):
        raise ValueError(f"{quote(data['kind'])} is no kind of failure")
    return Failure(data["kind"], _read_text(data["detail"]))
