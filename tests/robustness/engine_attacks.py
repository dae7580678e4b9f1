"""Rows about many clients, clients that leave, the engine, the model's output and the key."""

from __future__ import annotations

import base64
import json
import os
import pickle
import re
import threading
import time
from typing import TYPE_CHECKING, Any, Final

from openapi.contract.contract import load
from reference_server.http.pages import PUBLIC_PATHS
from tests.robustness.reference_process import KEY, MAIN, ROOT, ReferenceProcess
from tests.robustness.rows import Attacks, Row
from tests.robustness.wire import DIALECTS, Answer, assert_refused, chat, connect, get, head, post

if TYPE_CHECKING:
    from pathlib import Path

ATTACKS: Final = Attacks("server")
LONG: Final = {"max_tokens": 3000, "ignore_eos": True}
SLACK_S: Final = 5.0
UNSAFE: Final = re.compile(r"\btorch\.load\b|^\s*(?:import|from) (?:pickle|marshal|shelve|dill)\b", re.MULTILINE)
PIECE_CHARACTERS: Final = 64
MOST_HELD_CHARACTERS: Final = 2048
"""Characters of an unfinished call, which are parsed again with the next piece."""


@ATTACKS.row(18)
def markers_without_an_end(_: ReferenceProcess, row: Row) -> None:
    from reference_server.engine import Tool, ToolUse  # loads torch
    from reference_server.engine.tools.tool_format import CHATGLM3, DEEPSEEK_R1, HERMES
    from reference_server.engine.tools.tool_parser import CallParser

    units = {
        HERMES: ("<tool_call>", '<tool_call>{"name": "look", "arguments": {'),
        DEEPSEEK_R1: (f"{DEEPSEEK_R1.opening}{DEEPSEEK_R1.before_name}",),
        CHATGLM3: ("look\n", "look\n ```python\ntool_call(a='"),
    }
    size = row.values["bytes"]
    for form, texts in units.items():
        for unit in texts:
            text = (unit * (size // len(unit) + 1))[:size]
            parser = CallParser(form, ToolUse((Tool("look", '"look"', '{"type": "object"}', None),)))
            began = time.process_time()
            for at in range(0, size, PIECE_CHARACTERS):
                parser.push(text[at : at + PIECE_CHARACTERS])
                assert len(parser._buffer) <= MOST_HELD_CHARACTERS
            parser.flush(cut=False)
            assert time.process_time() - began < row.values["seconds"] + SLACK_S, (form.name, unit)


@ATTACKS.row(21)
def pickles(server: ReferenceProcess, _: Row) -> None:
    target = server.temporary / "unpickled"

    class Attack:
        def __reduce__(self) -> tuple[Any, tuple[str]]:
            return os.mkdir, (str(target),)

    data = base64.b64encode(pickle.dumps(Attack())).decode()
    part = {"type": "image_url", "image_url": {"url": f"data:application/octet-stream;base64,{data}"}}
    for dialect in DIALECTS:
        answer = server.post(dialect, prompt_embeds=data)
        assert answer.status in (200, server.status("invalid_request", dialect))
        assert_refused(server.post(dialect, content=[part]), dialect, server.status("invalid_request", dialect))
    assert not target.exists()
    assert list(unsafe_loads(ROOT / "reference_server")) == []


def unsafe_loads(folder: Path) -> list[str]:
    """Return every file below a folder that imports pickle or loads with torch."""
    files = (path for path in folder.rglob("*.py") if "tests" not in path.parts)
    return [str(path) for path in files if UNSAFE.search(path.read_text(encoding="utf-8"))]


@ATTACKS.row(29)
def crowd(server: ReferenceProcess, row: Row) -> None:
    answers: list[Answer] = []
    barrier = threading.Barrier(row.values["clients"])

    def ask() -> None:
        barrier.wait()
        answers.append(server.post(max_tokens=20, ignore_eos=True))

    threads = [threading.Thread(target=ask) for _ in range(row.values["clients"])]
    for thread in threads:
        thread.start()
    assert get(f"{server.addresses[MAIN]}/health").status == 200
    for thread in threads:
        thread.join()
    assert len(answers) == row.values["clients"]
    admitted = [answer for answer in answers if answer.status == 200]
    refused = [answer for answer in answers if answer.status != 200]
    assert len(admitted) >= 4
    assert refused
    for answer in refused:
        assert_refused(answer, MAIN, server.status("overloaded"))
        assert int(answer.headers["retry-after"]) >= 1
    for answer in admitted:
        assert answer.json()["usage"]["completion_tokens"] == 20


@ATTACKS.row(30)
def clients_that_leave(server: ReferenceProcess, row: Row) -> None:
    for stream in (True, False):
        for leave_at in ("before", "after"):
            body = chat("hello " * (1000 if leave_at == "before" else 1), stream=stream, **LONG)
            raw = head("POST", load(MAIN).path, {"Authorization": f"Bearer {KEY}", "Content-Length": str(len(body))})
            others = server.command("counts")["requests"]
            with connect(server.addresses[MAIN]) as connection:
                connection.sendall(raw + body)
                wait_for(lambda others=others: server.command("counts")["requests"] > others, SLACK_S)
                if leave_at == "after" and stream:
                    connection.recv(10)
                elif leave_at == "after":
                    time.sleep(0.2)
            left = time.monotonic()
            wait_for(lambda: server.command("counts")["sequences"] <= 1, row.values["seconds"] + SLACK_S)
            wait_for(lambda: server.command("counts")["requests"] <= 1, row.values["seconds"] + SLACK_S)
            assert time.monotonic() - left < row.values["seconds"] + SLACK_S


def wait_for(condition: Any, seconds: float) -> None:
    """Wait until a condition holds; fail after the given time."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.01)


@ATTACKS.row(32)
def out_of_memory(server: ReferenceProcess, _: Row) -> None:
    server.command("run_out_of_memory", tokens=100)
    try:
        for dialect in DIALECTS:
            for stream in (True, False):
                words = f"{dialect} {stream} " * 100  # of which no slot has cached the beginning
                answer = server.post(dialect, content=words, stream=stream)
                assert_refused(answer, dialect, server.status("overloaded", dialect))
                assert server.post(dialect, stream=stream).status == 200
    finally:
        server.command("repair")
    assert server.post(content=words).status == 200


@ATTACKS.row(35)
def keys(server: ReferenceProcess, _: Row) -> None:
    for dialect in DIALECTS:
        address, contract = server.addresses[dialect], load(dialect)
        unknown = (f"{contract.models_path}/x", "/invocations", f"{contract.path}/", "//health", "/docs/../v1")
        for path in (contract.path, contract.models_path, *unknown):
            for sent in ({}, {"Authorization": "Bearer wrong"}, {"Authorization": f"Basic {KEY}"}, {"x-api-key": KEY}):
                status = server.status("unauthorized", dialect)
                for answer in (get(address + path, sent), post(address + path, chat(), sent)):
                    assert_refused(answer, dialect, status)
                    assert KEY.encode() not in answer.body + json.dumps(dict(answer.headers)).encode()
        for path in PUBLIC_PATHS:
            assert get(address + path).status == 200
    assert KEY not in server.log()
