"""Send requests that are neither judged nor timed: for the model, the description, the key and the capabilities."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import httpx

from conformance.client.redaction import Redaction, RedactionTimeout
from conformance.client.request_builder import RequestBuilder
from conformance.client.transport_errors import explain_error
from conformance.exchange import Exchange, Failure, Request, Response, Segment
from openapi.bounded_http import MAX_BYTES, BoundedRequestError, send_bounded

if TYPE_CHECKING:
    import ssl
    from collections.abc import Sequence

    from conformance.client.call import Call
    from conformance.client.headers import GatewayHeader
    from conformance.client.secret import Secret
    from openapi.bounded_http import BoundedAnswer


class UntimedClient:
    """Sends calls to one server through httpx, with the key and the headers that a judged request has too.

    `verify` is httpx's. Raises UsageError for an invalid URL.
    """

    def __init__(
        self,
        url: str,
        secret: Secret | None = None,
        *,
        headers: Sequence[GatewayHeader] = (),
        verify: bool | ssl.SSLContext = True,
    ) -> None:
        self._builder = RequestBuilder(url, secret, headers)
        self._redaction = Redaction(
            [*(() if secret is None else (secret,)), *(value for header in headers for value in header.secrets)]
        )
        # The certificate authorities are read once, and only if they are needed.
        self._verify = self._builder.origin[0] == "https" and httpx.create_ssl_context(verify=verify, trust_env=False)
        self.has_key = secret is not None

    async def send(self, call: Call) -> Exchange:
        """Send one request, and return the exchange with the answer as one segment, or with the failure."""
        request = self._builder.build(call)
        started_at, started_s = datetime.now(UTC).isoformat(), time.monotonic()
        late = Failure("timeout", f"no complete answer within {call.deadline_s:g} s")
        answer: BoundedAnswer | None = None
        failure: Failure | None = None
        try:
            answer = await send_bounded(
                call.method,
                request.url,
                headers=[(name.decode("ascii"), value.decode("ascii")) for name, value in request.headers],
                body=call.body,
                deadline_s=call.deadline_s,
                verify=self._verify,
            )
        except BoundedRequestError as error:
            failure = late
            if error.cause is not None:
                kind, detail = explain_error(error.cause, request.origin, connected=error.connected, opened=False)
                failure = Failure(kind, detail)
        if answer is not None and not answer.complete:
            failure = (
                Failure("too-large", f"the body is longer than {MAX_BYTES} bytes; the rest was not read")
                if len(answer.body) == MAX_BYTES
                else late
            )
        ended_s = time.monotonic() - started_s
        redaction = self._redaction
        return Exchange(
            id=call.id,
            scenario=call.scenario,
            step=call.step,
            request=Request(
                call.method,
                redaction.redact_text(request.url),
                redaction.redact_headers(request.headers),
                b"".join(redaction.redact_body([call.body])),
            ),
            response=None if answer is None else self._build_response(answer, ended_s),
            failure=None if failure is None else Failure(failure.kind, redaction.redact_text(failure.detail)),
            started_at=started_at,
        )

    def _build_response(self, answer: BoundedAnswer, ended_s: float) -> Response:
        try:
            segments = self._redaction.redact_body([answer.body], time.monotonic() + 1.0)
        except RedactionTimeout:
            segments = []
        if not answer.complete:
            segments = self._redaction.redact_ends(segments, [(0, 1)])
        return Response(
            status=answer.status,
            reason=self._redaction.redact_line(answer.reason),
            http_version=answer.http_version,
            headers=self._redaction.redact_headers(answer.headers),
            segments=tuple(Segment(ended_s, data) for data in segments),
            headers_at_s=ended_s,
            ended_at_s=ended_s,
            complete=answer.complete,
        )
