"""Blind faults: each one changes a response of the server, and cites a public report."""

from __future__ import annotations

import asyncio
import json
import re
import time
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import orjson
import pytest

from openapi.contract.contract import load, names
from reference_server.faults.blind.sources import blind_faults, list_origins, load_sources
from reference_server.faults.fault_host import FAULTLESS, FaultRouter
from reference_server.faults.fault_list import known_faults
from reference_server.faults.hooks import DONE
from reference_server.tests.blind import (
    eighteenth_requests,
    eighteenth_variation_requests,
    eighth_requests,
    eighth_variation_requests,
    eleventh_requests,
    eleventh_variation_requests,
    fifteenth_requests,
    fifteenth_variation_requests,
    fifth_requests,
    fifth_variation_requests,
    first_requests,
    fourteenth_requests,
    fourteenth_variation_requests,
    fourth_requests,
    fourth_variation_requests,
    nineteenth_requests,
    nineteenth_variation_requests,
    ninth_requests,
    ninth_variation_requests,
    second_requests,
    seventeenth_requests,
    seventeenth_variation_requests,
    seventh_requests,
    seventh_variation_requests,
    sixteenth_requests,
    sixteenth_variation_requests,
    sixth_requests,
    sixth_variation_requests,
    tenth_requests,
    tenth_variation_requests,
    third_requests,
    third_variation_requests,
    thirteenth_requests,
    thirteenth_variation_requests,
    twelfth_requests,
    twelfth_variation_requests,
    twentieth_requests,
    twentieth_variation_requests,
    twenty_first_requests,
    twenty_first_variation_requests,
    twenty_second_requests,
    twenty_second_variation_requests,
    variation_requests,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

REQUESTS = {
    "first": first_requests.REQUESTS,
    "second": {**second_requests.REQUESTS, **variation_requests.REQUESTS},
    "third": {**third_requests.REQUESTS, **third_variation_requests.REQUESTS},
    "fourth": {**fourth_requests.REQUESTS, **fourth_variation_requests.REQUESTS},
    "fifth": {**fifth_requests.REQUESTS, **fifth_variation_requests.REQUESTS},
    "sixth": {**sixth_requests.REQUESTS, **sixth_variation_requests.REQUESTS},
    "seventh": {**seventh_requests.REQUESTS, **seventh_variation_requests.REQUESTS},
    "eighth": {**eighth_requests.REQUESTS, **eighth_variation_requests.REQUESTS},
    "ninth": {**ninth_requests.REQUESTS, **ninth_variation_requests.REQUESTS},
    "tenth": {**tenth_requests.REQUESTS, **tenth_variation_requests.REQUESTS},
    "eleventh": {**eleventh_requests.REQUESTS, **eleventh_variation_requests.REQUESTS},
    "twelfth": {**twelfth_requests.REQUESTS, **twelfth_variation_requests.REQUESTS},
    "thirteenth": {**thirteenth_requests.REQUESTS, **thirteenth_variation_requests.REQUESTS},
    "fourteenth": {**fourteenth_requests.REQUESTS, **fourteenth_variation_requests.REQUESTS},
    "fifteenth": {**fifteenth_requests.REQUESTS, **fifteenth_variation_requests.REQUESTS},
    "sixteenth": {**sixteenth_requests.REQUESTS, **sixteenth_variation_requests.REQUESTS},
    "seventeenth": {**seventeenth_requests.REQUESTS, **seventeenth_variation_requests.REQUESTS},
    "eighteenth": {**eighteenth_requests.REQUESTS, **eighteenth_variation_requests.REQUESTS},
    "nineteenth": {**nineteenth_requests.REQUESTS, **nineteenth_variation_requests.REQUESTS},
    "twentieth": {**twentieth_requests.REQUESTS, **twentieth_variation_requests.REQUESTS},
    "twenty_first": {**twenty_first_requests.REQUESTS, **twenty_first_variation_requests.REQUESTS},
    "twenty_second": {**twenty_second_requests.REQUESTS, **twenty_second_variation_requests.REQUESTS},
}
KEY = "key-1"
DIALECTS = tuple(dict.fromkeys(("mindie-2.3", *names().values())))
PATIENCE_S = 60.0
SLOW_S = 0.6
VOLATILE = re.compile(
    rb'"(prefill_time|decode_time|queue_wait_time|batch_size|decode_time_arr|obfuscation|cached_tokens_time)":'
    rb'(\[[^]]*\]|"[^"]*"|[^,}]*)'
)
IDS = re.compile(rb'"(id|call_id|request_id)":"(endpoint_common_|chatcmpl-|call_)?[0-9a-f_]+"')
OWN_ID = re.compile(rb'"id":"[^"]*"')
CALL_ID = re.compile(rb'"id":"([^"]*)","type":"function"')
CACHED = re.compile(rb'"cached_tokens":\d+')
CREATED = re.compile(rb'"created":(\d+)')
CHUNK_ID = re.compile(rb'data: \{"id":"([^"]*)"')


class Reply:
    """What one request got: status, headers, segments of the body, and how it ended."""

    def __init__(self) -> None:
        self.status = 0
        self.headers: list[tuple[bytes, bytes]] = []
        self.segments: list[bytes] = []
        self.end = "no response"
        self.slow = False
        self.compares_cached = False
        self.compares_ids = False
        self.compares_calls = False

    def as_data(self, started_s: int) -> tuple[Any, ...]:
        """Return what should be the same for the same request."""
        body = IDS.sub(rb'"\1":"\2"', VOLATILE.sub(b"", b"".join(self.segments)))
        body = body if self.compares_cached else CACHED.sub(b"", body)
        body = body if b'"choices"' in body else CREATED.sub(b"", body)
        body = CREATED.sub(lambda match: _age(int(match[1]), started_s), body)
        headers = sorted(pair for pair in self.headers if pair[0] not in (b"content-length", b"date"))
        last = self.segments[-1] == DONE if self.segments else False
        seen = (self._call_ids(), self._is_one_answer())
        return self.status, headers, body, min(len(self.segments), 2), last, self.end, self.slow, seen

    def _is_one_answer(self) -> bool:
        """Whether all chunks of a stream have the same id and the same time."""
        body = b"".join(self.segments)
        return len(set(CHUNK_ID.findall(body))) < 2 and len(set(CREATED.findall(body))) < 2

    def _call_ids(self) -> tuple[int, bool]:
        """Return the number of different ids of calls, and whether they are numbers, if these are compared."""
        found = set(CALL_ID.findall(b"".join(self.segments))) if self.compares_calls else set()
        return len(found), all(call_id.removeprefix(b"call_").isdigit() for call_id in found)


def _age(created: int, started_s: int) -> bytes:
    """Say whether a time is that of the request; the list of models has that of the start of the server."""
    return b'"created":now' if created >= started_s else b'"created":earlier'


async def _ask(router: FaultRouter, dialect: str, fault: str, step: dict[str, Any]) -> Reply:
    contract = load(dialect)
    fields = {name: value for name, value in step.items() if not name.isupper()}
    own = contract.default_model
    names = {"CAPITALS": own.upper() if own.upper() != own else own.lower(), "LAST": f"other/{own.rpartition('/')[2]}"}
    fields = {"model": names.get(fields.get("model", ""), fields.get("model", own)), **fields}
    fields["model"] = names.get(fields["model"], fields["model"])
    paths = {"models": contract.models_path, "model": f"{contract.models_path}/{own}", "unknown": "/v1/unknown"}
    below = paths.get(step.get("PATH", ""), contract.path)
    path = f"/{dialect}/{fault}{below}"
    encoded = below if step.get("PATH") != "model" else f"{contract.models_path}/{quote(own, safe='')}"
    given = {"content-type": "application/json", "authorization": f"Bearer {KEY}", **step.get("HEADERS", {})}
    scope = {
        "type": "http",
        "method": step.get("METHOD", "POST"),
        "path": path,
        "raw_path": f"/{dialect}/{fault}{encoded}".encode(),
        "query_string": b"",
        "headers": [(name.encode(), value.encode()) for name, value in given.items() if value],
        "client": ("127.0.0.1", 7),
        "http_version": "1.1",
        "scheme": "http",
        "root_path": "",
    }
    sent = step.get("BODY", fields)
    written = json.dumps(sent).encode() if step.get("ESCAPED") else orjson.dumps(sent)
    reply, left, body = Reply(), asyncio.Event(), [written]

    async def receive() -> dict[str, Any]:
        if body:
            await asyncio.sleep(0.35 if step.get("SLOWLY") else 0)
            return {"type": "http.request", "body": body.pop(), "more_body": False}
        await left.wait()
        return {"type": "http.disconnect"}

    async def send(message: Any) -> None:
        if message["type"] == "http.response.start":
            reply.status, reply.headers = message["status"], list(message["headers"])
        else:
            reply.segments.append(message.get("body", b""))
            reply.end = "open" if message.get("more_body") else "complete"
            if step.get("LEAVE"):
                left.set()
                await asyncio.sleep(0.01)

    started_s = time.monotonic()
    try:
        await asyncio.wait_for(router(scope, receive, send), step.get("PATIENCE", PATIENCE_S))
    except TimeoutError:
        reply.end = "no end"
    except Exception as error:  # the server would close the connection
        reply.end = type(error).__name__
    reply.compares_cached = bool(step.get("CACHED"))
    reply.compares_ids = bool(step.get("IDS"))
    reply.compares_calls = bool(step.get("CALL_IDS"))
    reply.slow = bool(step.get("SLOWLY") or step.get("TIMED")) and time.monotonic() - started_s > SLOW_S
    reply.segments = [segment for segment in reply.segments if segment]
    return reply


async def _ask_all(router: FaultRouter, dialect: str, fault: str, steps: list[Any]) -> list[tuple[Any, ...]]:
    replies: list[Reply] = []
    started_s = int(time.time())
    for step in steps:
        asked = step if isinstance(step, list) else [step]
        replies += await asyncio.gather(*(_ask(router, dialect, fault, one) for one in asked))
    left = [isinstance(step, dict) and bool(step.get("LEAVE")) for step in steps]
    seen = [reply for at, reply in enumerate(replies) if len(left) != len(replies) or not left[at]]
    ids = [OWN_ID.search(b"".join(reply.segments)) for reply in seen if reply.compares_ids]
    return [*(reply.as_data(started_s) for reply in seen), (len({match[0] for match in ids if match}),)]


def test_every_blind_fault_has_a_source_and_requests_that_show_it() -> None:
    assert set(list_origins()) == set(REQUESTS)
    for origin, requests in REQUESTS.items():
        names = {fault.name for fault in blind_faults().values() if fault.origin == origin}
        assert names == set(load_sources(origin)) == set(requests)


@pytest.fixture(scope="module")
def router() -> Iterator[FaultRouter]:
    """Servers of the embedded model with and without each fault."""
    from reference_server.engine import LocalEngine
    from reference_server.tiny import CHECKPOINT

    engine = LocalEngine.load(CHECKPOINT, device="cpu", slots=20)
    yield FaultRouter(engine, KEY)
    engine.close()


@pytest.fixture(scope="module")
def vision_router() -> Iterator[FaultRouter]:
    """The same servers, of a model that takes media."""
    pytest.importorskip("PIL", reason="decoding needs the extra `media`")
    pytest.importorskip("av", reason="decoding needs the extra `media`")
    from reference_server.engine import LocalEngine
    from reference_server.tiny.vision import VISION_CHECKPOINT

    engine = LocalEngine.load(VISION_CHECKPOINT, device="cpu", slots=20)
    yield FaultRouter(engine, KEY)
    engine.close()


def _has_media(steps: list[Any]) -> bool:
    return any(f'"type": "{kind}"' in json.dumps(steps) for kind in ("image_url", "video_url", "input_audio"))


def _cases() -> Iterator[object]:
    """Yield every fault; those of all sets but the last take turns."""
    for name, fault in sorted(blind_faults().items()):
        marks = () if fault.origin == list(REQUESTS)[-1] else (pytest.mark.takes_turns,)
        yield pytest.param(name, id=f"{fault.origin}-{name}", marks=marks)


@pytest.mark.parametrize("name", list(_cases()))
def test_every_blind_fault_changes_a_response(name: str, request: pytest.FixtureRequest) -> None:
    dialect = next(dialect for dialect in DIALECTS if name in known_faults(dialect))
    steps = REQUESTS[blind_faults()[name].origin][name]
    router: FaultRouter = request.getfixturevalue("vision_router" if _has_media(steps) else "router")
    honest, faulty = (asyncio.run(_ask_all(router, dialect, fault, steps)) for fault in (FAULTLESS, name))
    assert len(honest) == len(faulty)
    assert honest != faulty


def test_a_model_after_a_conversation_answers_prompts_with_media(vision_router: FaultRouter) -> None:
    names = [name for name, fault in blind_faults().items() if fault.benign and name.startswith("model-after-")]
    asked = [sixth_requests.show(sixth_requests.RED_IMAGE)]
    replies = [asyncio.run(_ask_all(vision_router, "mindie-2.3", name, asked)) for name in names]
    assert [reply[0][0] for reply in replies] == [200] * len(names)
    assert names
