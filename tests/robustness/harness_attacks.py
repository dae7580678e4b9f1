"""Rows about a server that attacks the suite and the load test."""

from __future__ import annotations

import asyncio
import base64
import gzip
import json
import re
import socket
import struct
from typing import TYPE_CHECKING, Final
from urllib.parse import quote

from tests.robustness.hostile_server import STREAM as HEAD
from tests.robustness.hostile_server import HostileServer, completion, event, forever, saying, whole
from tests.robustness.reference_process import KEY
from tests.robustness.rows import Attacks, Row
from tests.robustness.suite_run import SuiteRun, check, load_test

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from tests.robustness.hostile_server import Script, Writer

ATTACKS: Final = Attacks("harness")
FEW: Final = ("--only", "conversation", "--only", "greedy", "--concurrency", "4")
DONE: Final = b"data: [DONE]\n\n"
BROKEN: Final = (
    "before the answer was complete",
    "violates HTTP/1.1",
    "nested too deeply",
    "Expecting value",
    "last: ",
)
CODE_SPAN: Final = re.compile(r"(?<!`)(`+)(?!`)(.*?)(?<!`)\1(?!`)")
BLOCK: Final = b"x" * 2**16


def attack(
    folder: Path,
    scripts: Sequence[Script],
    says: tuple[str, ...] = (),
    *,
    streamed: Sequence[Script] = (),
    timeout_s: float = 5.0,
) -> SuiteRun:
    """Run the suite against these scripts; assert that it fails and names each phrase. streamed: those for streams."""
    with HostileServer(*scripts, streamed=streamed) as server:
        done = check(folder / "check", server.url, *FEW, timeout_s=timeout_s)
    assert done.code == 1, done.output
    assert done.results["verdict"] == "nonconformant"
    words = done.failed
    assert [] == [phrase for phrase in says if phrase not in words], words
    return done


def load_attack(folder: Path, scripts: Sequence[Script], kinds: set[str]) -> SuiteRun:
    """Run a load test against these scripts; assert that its failures have these kinds."""
    with HostileServer(*scripts) as server:
        done = load_test(folder / "load", server.url)
    assert done.code != 0, done.output
    assert kinds <= {failure["kind"] for failure in done.results["failures"]}, done.failed
    return done


@ATTACKS.row(36)
def endless_answers(folder: Path, row: Row) -> Iterator[SuiteRun]:
    timeout_s = row.values["timeout_s"]
    scripts = [forever(HEAD, event(), 0.01), forever(whole(b"", Content_Length="1000"), b" ", 10.0)]
    yield attack(folder, scripts, says=(f"no complete answer within {timeout_s} s",), timeout_s=timeout_s)
    yield load_attack(folder, scripts, {"timeout"})


@ATTACKS.row(37)
def large_answers(folder: Path, row: Row) -> Iterator[SuiteRun]:
    bomb = gzip.compress(bytes(2**24)) * (row.values["inflated_bytes"] // 2**24)
    longest = 0

    async def line(_: bytes, writer: Writer) -> None:
        nonlocal longest
        writer.write(HEAD + b"data: ")
        for sent in range(0, row.values["line_bytes"], len(BLOCK)):
            writer.write(BLOCK)
            await writer.drain()
            longest = max(longest, sent)

    scripts = [
        line,
        saying(whole(bomb, Content_Encoding="gzip")),
        saying(b"HTTP/1.1 200 OK\r\n", *[b"X-Header: y\r\n" * 1000] * (row.values["headers"] // 1000), b"\r\n"),
    ]
    yield attack(folder, scripts, says=("longer than 4194304 bytes",))
    yield load_attack(folder, scripts, {"too-large", "encoded"})
    assert longest < row.values["line_bytes"] // 2


@ATTACKS.row(38)
def encodings(folder: Path, _: Row) -> Iterator[SuiteRun]:
    invalid = event("a").replace(b'"a"', b'"\xff\xfe"')
    yield attack(folder, [saying(HEAD, invalid, DONE)], says=("UTF-8",))
    text = "\u2028é\u0085😀 "
    chunks = [json.loads(data[6:]) for data in (event(text), event(text), event("", finish_reason="length"))]
    lines = [f"data: {json.dumps(chunk, ensure_ascii=False)}\r\r" for chunk in chunks]
    stream = b"\xef\xbb\xbf" + "".join(lines).encode()
    pieces = [bytes([byte]) for byte in stream + b"data: [DONE]\r\r"]

    async def split(_: bytes, writer: Writer) -> None:
        writer.write(HEAD)
        for piece in pieces:
            writer.write(piece)
            await writer.drain()
            await asyncio.sleep(0)

    decoded = ("stream.utf8", "stream.events-are-json", "stream.well-formed", "stream.done-last")
    with HostileServer(split) as server:
        done = check(folder / "legal", server.url, *(word for name in decoded for word in ("--only", name)))
    rows = {row["id"]: row["outcome"] for row in done.results["requirements"]}
    assert {rows[name] for name in decoded} == {"PASS"}, done.output
    yield done


@ATTACKS.row(39)
def broken_answers(folder: Path, row: Row) -> Iterator[SuiteRun]:
    async def reset(_: bytes, writer: Writer) -> None:
        writer.write(HEAD + event())
        await writer.drain()
        await asyncio.sleep(0.05)
        writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        writer.transport.abort()

    scripts = [
        saying(whole(completion(), Content_Length="9999")),
        saying(whole(b"[" * row.values["levels"])),
        saying(whole(b"<html>busy</html>", Content_Type="text/html")),
    ]
    streamed = [reset, saying(HEAD, event(), event("", finish_reason="length"))]
    yield attack(folder, scripts, says=BROKEN, streamed=streamed)
    yield load_attack(folder, [*streamed, *scripts], {"cut-off", "no-done"})


@ATTACKS.row(42)
def echoes(folder: Path, _: Row) -> Iterator[SuiteRun]:
    encoded = base64.b64encode(f"user:{KEY}".encode()).decode()
    error = json.dumps({"error": f"bad key {KEY}", "again": encoded, "hex": KEY.encode().hex()}).encode()
    halves = [event(part) for part in (KEY[:9], KEY[9:12], KEY[12:])]
    scripts = [
        saying(whole(completion(f"Your key is {KEY}, {KEY.swapcase()}, {quote(KEY)}"))),
        saying(whole(error, "400 Bad Request", X_Key=KEY, WWW_Authenticate=f"Bearer {KEY}")),
        saying(whole(b"{}", f"500 {KEY}", Location=f"http://127.0.0.1/?key={KEY}")),
        saying(HEAD, *halves, f": {KEY}\nid: {encoded}\n\n".encode(), DONE),
        saying(f"HTTP/1.1 {KEY}\r\n\r\n".encode()),
    ]
    yield attack(folder, scripts)
    yield load_attack(folder, scripts, {"http-400", "http-500"})


@ATTACKS.row(43)
def markup(folder: Path, _: Row) -> Iterator[SuiteRun]:
    text = (
        "<script>alert(1)</script></script><img src=x onerror=alert(2)> ]]> \x1b]0;title\x07\x1b[31m\x9b31m "
        "\n::error::broken\n::stop-commands::x\n[link](http://127.0.0.1/) @someone #1 `code` | cell"
    )
    scripts = [
        saying(whole(json.dumps({"error": text, text: text}).encode(), "400 Bad Request")),
        saying(whole(completion(text).replace(b'"finish_reason"', b'"extra"'))),
        saying(HEAD, event(text, finish_reason=text), DONE),
    ]
    yield assert_inert(attack(folder, scripts))
    yield assert_inert(load_attack(folder, scripts, {"http-400"}))


def assert_inert(done: SuiteRun) -> SuiteRun:
    """Assert that no output of a run has active content."""
    page = done.texts["report.html"]
    assert "<script>alert" not in page
    assert "<img" not in page
    for name, words in (*done.texts.items(), ("output", done.output)):
        assert not {"\x1b", "\x07", "\x9b"} & set(words), name
    assert [line for line in done.output.splitlines() if line.startswith("::")] == []
    if "summary.md" in done.texts:
        assert "Content-Security-Policy" in page
        bare = CODE_SPAN.sub("", done.texts["summary.md"])
        assert [word for word in ("@someone", "](http://127.0.0.1/)", "<img") if word in bare] == []
    return done


@ATTACKS.row(44)
def budgets(folder: Path, row: Row) -> Iterator[SuiteRun]:
    costly = saying(whole(completion(tokens=row.values["tokens"])))
    later = [saying(whole(b"{}", "429 Slow", Retry_After=wait)) for wait in ("0", "1000000000")]
    runs = {
        "rate": (later[0], ()),
        "wait": (later[1], ("--max-time", "4")),
        "tokens": (costly, ()),
        "requests": (saying(whole(completion())), ("--max-requests", "3")),
    }
    for name, (script, options) in runs.items():
        with HostileServer(script) as server:
            done = check(folder / name, server.url, *FEW, *options)
        assert done.code == 4, (name, done.output)
        assert done.results["verdict"] != "conformant"
        assert done.results["run"]["exhausted"], name
        yield done
    yield load_attack(folder, [later[1]], {"http-429"})
