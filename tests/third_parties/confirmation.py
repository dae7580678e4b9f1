"""Confirm findings by requests of httpx, which share no code with the suite's client and its checks.

A confirmation is data: what to send, and what the answers must show. Where chance decides, all is sent up to `tries`
times. The answers are one JSON document, a list with an object for each request: `status`, `headers`, `text`, `json`
(the parsed body, else null), `events` (the parsed events of a stream, except `[DONE]`) and `content` (the text of the
first choice, joined from the deltas of a stream). A status of 0 means that no answer came.
"""

from __future__ import annotations

import json
import re
import shlex
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote

import httpx

from tests.third_parties.judging import reported_status

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from tests.third_parties.judging import CitedRequest, Judgement, Row

TIMEOUT_S: Final = 60.0
RECORDED: Final = "recorded"
"""Confirmation by the exchange that the suite recorded, for what depends on concurrent requests or on time."""
UNANSWERED: Final = "was not answered"
"""What a finding says about a request without an answer, which has nothing else to show."""
REPEATED: Final = 3
"""Findings of one requirement that are repeated: they are alike."""
SHOWN: Final = 300
MESSAGES: Final = [{"role": "user", "content": "Hello!"}]
NOT_COPIED: Final = frozenset({"host", "content-length", "user-agent"})
MISSING: Final = object()


@dataclass(frozen=True, slots=True)
class Confirmation:
    """Whether a finding was confirmed, the last request as a curl command, and what the server answered."""

    confirmed: bool
    curl: str
    got: str


def confirm(url: str, model: str, row: Row, judgement: Judgement, how: Mapping[str, Any] | str | None) -> Confirmation:
    """Confirm the findings of one requirement as its attribution says, or by sending the cited requests again."""
    if how is None:
        return _repeat(row, judgement.requests)
    if isinstance(how, str):
        return _show_recorded(row, judgement.requests)
    for _ in range(how.get("tries", 1)):
        answers: list[dict[str, Any]] = []
        for wanted in how["send"]:
            request = _request(url, model, wanted)
            answers.append(_answer(*request, wanted.get("wait_s", TIMEOUT_S)))
        confirmed = all(_shows(answers, condition) for condition in how["shows"])
        if confirmed:
            break
    return Confirmation(confirmed, as_curl(*request), _summary(answers[-1]))


def _show_recorded(row: Row, requests: Mapping[str, CitedRequest]) -> Confirmation:
    """Return the first recorded exchange that a finding cites."""
    for finding in row.findings:
        if (request := requests.get(str(finding["exchange"]))) is not None:
            curl = as_curl(request.method, request.url, _copied(request), request.body)
            shown = f"{RECORDED}, {finding['where']}: expected {finding['expected']}, got {finding['got']}"
            confirmed = bool(request.answer) or UNANSWERED in str(finding["got"])
            return Confirmation(confirmed, curl, _shorten(shown))
    return Confirmation(False, "", "the results file has no cited exchange")


def _copied(request: CitedRequest) -> dict[str, str]:
    return {name: value for name, value in request.headers if name.lower() not in NOT_COPIED}


def _repeat(row: Row, requests: Mapping[str, CitedRequest]) -> Confirmation:
    """Send the cited requests again: each must be answered with the status that the finding states.

    A value to refuse must have been accepted, or have caused a server error; one to accept, refused.
    """
    last = Confirmation(False, "", "no finding states a status; the attribution needs a `confirm`")
    for finding in row.findings[:REPEATED]:
        request = requests.get(str(finding["exchange"]))
        status = reported_status(finding)
        if request is None or status is None:
            return last
        headers = _copied(request)
        answer = _answer(request.method, request.url, headers, request.body, TIMEOUT_S)
        refuse = "refused" in finding["expected"] or finding["expected"].startswith("4xx")
        violates = not (httpx.codes.is_client_error if refuse else httpx.codes.is_success)(answer["status"])
        curl = as_curl(request.method, request.url, headers, request.body)
        last = Confirmation(answer["status"] == status and violates, curl, _summary(answer))
        if not last.confirmed:
            return last
    return last


def _request(url: str, model: str, wanted: Mapping[str, Any]) -> tuple[str, str, dict[str, str], str | None]:
    """Return method, URL, headers and body of a request of an attribution.

    `body` is merged into a short prompt to the server's model; null removes a field. `raw` is sent as it is, with
    `{model}` replaced, and `{zeros}` by 5,000 of them.
    """
    method = wanted.get("method", "POST")
    target = url + wanted.get("path", "/v1/chat/completions").replace("{model}", quote(model, safe=""))
    headers = dict(wanted.get("headers", {}))
    if method != "POST":
        return method, target, headers, None
    headers = {"Content-Type": "application/json", **headers}
    if "raw" in wanted:
        return method, target, headers, wanted["raw"].replace("{model}", model).replace("{zeros}", "0" * 5000)
    body = {"model": model, "messages": MESSAGES, "max_tokens": 8, **wanted.get("body", {})}
    return method, target, headers, json.dumps({name: value for name, value in body.items() if value is not None})


def _answer(method: str, url: str, headers: Mapping[str, str], body: str | None, wait_s: float) -> dict[str, Any]:
    try:
        response = httpx.request(
            method, url, headers=dict(headers), content=body, timeout=wait_s, trust_env=False, follow_redirects=False
        )
    except httpx.HTTPError as error:
        return {"status": 0, "headers": {}, "text": type(error).__name__, "json": None, "events": [], "content": ""}
    events = _events(response.text) if "event-stream" in response.headers.get("content-type", "") else []
    parsed = _parse(response.text)
    return {
        "status": response.status_code,
        "headers": dict(response.headers),
        "text": response.text,
        "json": parsed,
        "events": events,
        "content": _content(events or [parsed]),
    }


def _events(text: str) -> list[Any]:
    """Return the JSON events of a stream; a plain reading, for streams without comments and multi-line data."""
    lines = (line.removeprefix("data:").strip() for line in text.splitlines() if line.startswith("data:"))
    return [parsed for line in lines if (parsed := _parse(line)) is not None]


def _content(parts: Iterable[Any]) -> str:
    texts = []
    for part in parts:
        choices = part.get("choices") if isinstance(part, dict) else None
        first = [choice for choice in choices or () if choice.get("index", 0) == 0][:1]
        for choice in first:
            message = choice.get("delta") or choice.get("message") or {}
            texts.append(message.get("content") or "")
    return "".join(texts)


def _parse(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return None


def _shows(answers: Sequence[Mapping[str, Any]], condition: Mapping[str, Any]) -> bool:
    """Whether the answers meet one condition: `at` is a JSON pointer into the list of answers."""
    value = pointed(answers, condition["at"])
    (operation,) = condition.keys() - {"at"}
    operand = condition[operation]
    match operation:
        case "absent":
            return bool((value is MISSING) == operand)
        case "is":
            return bool(value == operand)
        case "is_not":
            return value is not MISSING and bool(value != operand)
        case "one_of":
            return value in operand
        case "is_not_or_absent":
            return bool(value != operand)
        case "is_not_one_of":
            return value is not MISSING and value not in operand
        case "lacks_pattern":
            return value is not MISSING and re.search(operand, value) is None
        case "length":
            return value is not MISSING and len(value) == operand
        case "longer_than":
            return value is not MISSING and len(value) > operand
        case "has":
            return value is not MISSING and operand in value
        case "lacks":
            return value is not MISSING and operand not in value
        case "same_as":
            return value is not MISSING and bool(value == pointed(answers, operand))
        case "differs_from":
            return value is not MISSING and bool(value != pointed(answers, operand))
    raise ValueError(f"invalid condition {operation!r}: expected one of those in confirmation.py")


def pointed(document: Any, pointer: str) -> Any:
    """Return the value at a JSON pointer, whose indices may be negative; MISSING if nothing is there."""
    for part in pointer.split("/")[1:]:
        try:
            document = document[int(part)] if isinstance(document, list) else document[part]
        except (KeyError, IndexError, TypeError, ValueError):
            return MISSING
    return document


def as_curl(method: str, url: str, headers: Mapping[str, str], body: str | None) -> str:
    """Return a request as a curl command, with the loopback address replaced by `$URL`."""
    target = "$URL" + url[url.index("/", len("http://")) :]
    words = ["curl -sS", f'"{target}"']
    if method not in ("GET", "POST"):
        words.append(f"-X {method}")
    words += [f"-H {shlex.quote(f'{name}: {value}')}" for name, value in headers.items() if name.lower() != "accept"]
    if body is not None:
        words.append(f"-d {shlex.quote(body)}")
    return " ".join(words)


def _summary(answer: Mapping[str, Any]) -> str:
    return _shorten(f"{answer['status']}: {answer['text']}")


def _shorten(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= SHOWN else f"{text[: SHOWN - 1]}…"
