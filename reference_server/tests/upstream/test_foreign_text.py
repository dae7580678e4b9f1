"""Tests of the outlet for the words of upstreams: no key in any usual encoding, no address, path or e-mail."""

from __future__ import annotations

import base64
import json
import logging
import time
from random import Random
from typing import TYPE_CHECKING
from urllib.parse import quote

import httpx
import pytest

from openapi.contract.contract import load
from reference_server.tests.gateway import gateway
from reference_server.tests.quirky_upstream import ReceivedRequest, event, plain, quirky, streaming, text_chunk
from reference_server.tests.scripted_engine import PATIENCE_S
from reference_server.upstream.foreign_text import REDACTED, ForeignText

if TYPE_CHECKING:
    import socket
    from collections.abc import Callable

KEYS = ("sk-Proj_Ab12.cd34/Ef56+gh78", "AIzaSy0123456789abcdef", "a1-b2-c3-d4-e5-f6-g7-h8", "p@ss&w<o>rd\"'\\$1xQwErTy")


def base64_text(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


ENCODINGS: dict[str, Callable[[str], str]] = {
    "raw": str,
    "other letter case": str.swapcase,
    "truncated": lambda key: key[: len(key) - 5],
    "percent": lambda key: quote(key, safe=""),
    "percent for every character": lambda key: "".join(f"%{ord(character):02x}" for character in key),
    "percent, twice": lambda key: quote(quote(key, safe=""), safe=""),
    "base64": base64_text,
    "base64 of user and key": lambda key: base64_text(f"me:{key}"),
    "base64url without padding": lambda key: base64.urlsafe_b64encode(key.encode()).decode().rstrip("="),
    "base64 in lines": lambda key: "\n".join(base64_text(key)[at : at + 10] for at in range(0, 60, 10)),
    "base64 of base64": lambda key: base64_text(base64_text(key)),
    "hexadecimal": lambda key: key.encode().hex(),
    "hexadecimal with colons": lambda key: key.encode().hex(":").upper(),
    "JSON": json.dumps,
    "JSON escapes": lambda key: "".join(f"\\u{ord(character):04X}" for character in key),
    "JSON within JSON": lambda key: json.dumps("".join(f"\\u{ord(character):04x}" for character in key)),
    "Python escapes": lambda key: "".join(f"\\x{ord(character):02x}" for character in key),
    "HTML": lambda key: "".join(f"&#{ord(character)};" for character in key),
    "HTML, hexadecimal": lambda key: "".join(f"&#x{ord(character):x};" for character in key),
}


@pytest.mark.parametrize("encoding", ENCODINGS)
@pytest.mark.parametrize("key", KEYS)
def test_a_key_is_removed_in_every_usual_encoding(key: str, encoding: str) -> None:
    echo = ENCODINGS[encoding](key)
    foreign = ForeignText([key])
    for before, after in (("wrong key ", " given"), ('{"authorization":"Bearer ', '"}'), ("key=", "&x=1"), ("", "")):
        cleaned = foreign.clean(before + echo + after)
        assert REDACTED in cleaned
        rest = "".join(filter(str.isalnum, cleaned.replace(REDACTED, "|")))
        compared = "".join(filter(str.isalnum, echo))
        assert not [at for at in range(len(compared) - 7) if compared[at : at + 8] in rest], cleaned
    assert REDACTED in foreign.clean(f"top_p must be less, not {echo}").removeprefix("top_p must be less, not ")


def test_random_keys_are_removed_from_random_positions() -> None:
    random = Random(17)
    letters = [chr(code) for code in range(33, 127)]
    for _ in range(60):
        key = "".join(random.choices(letters, k=random.randint(16, 64))) + "abcdefgh"
        noise = "".join(random.choices([*letters, " "], k=random.randint(0, 200)))
        at = random.randint(0, len(noise))
        echo = random.choice(list(ENCODINGS.values()))(key)
        cleaned = ForeignText([key]).clean(f"{noise[:at]} {echo} {noise[at:]}")
        assert echo not in cleaned
        assert "abcdefgh" not in cleaned


def test_a_short_key_is_removed_only_as_a_word() -> None:
    assert (
        ForeignText(["EMPTY"]).clean("EMPTY is wrong, EMPTYING is empty") == f"{REDACTED} is wrong, EMPTYING is empty"
    )


@pytest.mark.parametrize(
    "words", ["%41" * 9000, "\\u0041" * 9000, "a." * 9000, "/-" * 9000, "a@" * 9000, ":" * 9000, "sk-Proj_" * 9000]
)
def test_the_worst_text_takes_little_time(words: str) -> None:
    start = time.perf_counter()
    ForeignText(KEYS).clean(words)
    assert time.perf_counter() - start < 2.0


@pytest.mark.parametrize(
    ("message", "cleaned"),
    [
        ("see https://engine.example/x?y for more", "see ... for more"),
        ("10.0.0.7:8000 said no", "... said no"),
        ("no route to [fe80::1]:8000 or ::1", "no route to ... or ..."),
        ("worker-3.ml.svc.cluster.local is down", "... is down"),
        ("engine-7 is down", "... is down"),
        ("write to ops+ml@corp.example.com now", "write to ... now"),
        ("in /srv/models/llama/config.json", "in ..."),
        ('File "/root", ~/x, ../x/y, C:\\Users\\me', 'File "...", ..., ..., ...'),
        ("one\nline\x1b[31m\u202e", "one line [31m "),
        ("top_p must be in (0, 1] and/or n/a, 1 / 2, </s>", "top_p must be in (0, 1] and/or n/a, 1 / 2, </s>"),
        ("maximum context length is 4096 tokens", "maximum context length is 4096 tokens"),
        ("x" * 2000, "x" * 497 + "..."),
        ("theirs is full", "ours is full"),
        ("no 'theirs', nor theirs-7b or nottheirs", "no 'ours', nor theirs-7b or nottheirs"),
    ],
)
def test_names_addresses_and_paths_are_removed(message: str, cleaned: str) -> None:
    assert ForeignText(names={"theirs": "ours", "engine-7": "..."}).clean(message) == cleaned


@pytest.mark.parametrize("encoding", ["raw", "base64 of user and key"])
def test_an_echoed_key_reaches_neither_the_client_nor_the_log(
    encoding: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    key = KEYS[0]
    monkeypatch.setenv("CHATPROOF_TEST_UPSTREAM", key)
    echo = ENCODINGS[encoding](key)
    error = {"error": {"message": f"wrong key {echo}, ask ops@corp.example at /srv/keys"}}
    replies = [plain(status, error) for status in (400, 401, 404, 422, 429, 500, 503)]
    replies += [streaming(event(error)), streaming(event(text_chunk("a")) + event(error))]
    replies += [streaming(event(text_chunk("a", echo))), f"HTTP/1.1 200 OK\r\n{echo}: {echo} \x00\r\n\r\n".encode()]
    replies += [streaming(event(text_chunk("a", [echo])))]  # type: ignore[arg-type]  # deliberately invalid
    left = iter([reply for reply in replies for _ in range(2)])

    def script(_request: ReceivedRequest, peer: socket.socket) -> None:
        peer.sendall(next(left))

    shown = []
    with (
        caplog.at_level(logging.DEBUG, "reference_server"),
        quirky(script) as upstream,
        gateway(load("mindie-2.3"), upstream.address, key_variable="CHATPROOF_TEST_UPSTREAM") as front,
    ):
        for stream in (False, True) * len(replies):
            request = {"model": "tiny", "messages": [{"role": "user", "content": "Hi"}], "stream": stream}
            response = httpx.post(f"{front.address}/v1/chat/completions", json=request, timeout=PATIENCE_S)
            shown += [response.text, str(response.headers)]
    text = "\n".join([*shown, caplog.text])
    assert REDACTED in text
    assert "Traceback" not in text
    for secret in (key, echo, "ops@corp.example", "/srv/keys"):
        assert secret not in text
