"""The curl command of an exchange sends the same request, byte for byte."""

from __future__ import annotations

import subprocess
from itertools import pairwise
from typing import TYPE_CHECKING

import pytest

from conformance.client.curl import LONGEST_ARGUMENT, curl, short_curl
from conformance.client.secret import REDACTED
from conformance.exchange import Exchange, Request

if TYPE_CHECKING:
    from pathlib import Path


def sent(request: Request) -> Exchange:
    """Return an exchange without a response."""
    return Exchange("case-1", "case", "main", request, None, None, "2026-11-20T00:00:00+00:00")


def run(command: str, folder: Path, variable: str = "API_KEY") -> tuple[list[str], bytes]:
    """Return the arguments and the input that a POSIX shell passes to curl."""
    catch = "curl() { printf '%s\\0' \"$@\" > args; cat > stdin; }\n"
    # In a file: a body of megabytes does not fit into an argument.
    (folder / "script").write_text(catch + command)
    subprocess.run(["sh", "script"], cwd=folder, check=True, stdin=subprocess.DEVNULL, env={variable: 'k"e y'})
    args = (folder / "args").read_bytes().split(b"\0")[:-1]
    return [arg.decode() for arg in args], (folder / "stdin").read_bytes()


def options(args: list[str], name: str) -> list[str]:
    return [value for option, value in pairwise(args) if option == name]


# Each body, and whether it must be piped.
BODIES = [
    (b'{"a": "it\'s \\"so\\" $HOME `id` !! \\\\ \\n"}', False),
    (b"@/etc/passwd", False),
    ("你好 🙂\n\n  x\n".encode(), False),
    (b"-n", False),
    (b"-n\0--", True),
    (b"\x00\x01\xff%s %d \\n '", True),
    (b"\x1b]0;title\x07", True),
    (b"\r\n", True),
    ("你".encode() * LONGEST_ARGUMENT, True),
]


@pytest.mark.parametrize(("body", "piped"), BODIES, ids=range(len(BODIES)))
def test_a_command_sends_the_same_body(body: bytes, piped: bool, tmp_path: Path) -> None:
    request = Request("POST", "http://h/v1", (("Content-Type", "application/json"),), body)
    args, stdin = run(curl(sent(request)), tmp_path)
    assert options(args, "--data-binary") == (["@-"] if piped else [])
    assert options(args, "--data-raw") == ([] if piped else [body.decode()])
    assert stdin == (body if piped else b"")


@pytest.mark.parametrize("body", [f'{{"key": "{REDACTED}"}}', f"\x00{REDACTED}\xff%{REDACTED}"])
def test_a_command_reads_the_key_from_a_variable_in_all_places(body: str, tmp_path: Path) -> None:
    headers = (("Authorization", f"Bearer {REDACTED}"), ("X-Two", f"{REDACTED}'{REDACTED}"))
    request = Request("POST", f"http://h/v1?k={REDACTED}&b=1", headers, body.encode())
    command = curl(sent(request), "MY_KEY")
    assert '"$MY_KEY"' in command
    assert REDACTED not in command
    args, stdin = run(command, tmp_path, "MY_KEY")
    key = 'k"e y'
    assert f"http://h/v1?k={key}&b=1" in args
    assert {f"Authorization: Bearer {key}", f"X-Two: {key}'{key}"} < set(options(args, "--header"))
    bodies = [stdin.decode()] if "@-" in args else options(args, "--data-raw")
    assert bodies == [body.replace(REDACTED, key)]


def test_a_command_reads_each_secret_header_from_its_own_variable(tmp_path: Path) -> None:
    headers = (("api-key", "[REDACTED-HEADER_API_KEY]"), ("X-Model", "[REDACTED-HOME]"))
    for body in ("[REDACTED-HEADER_API_KEY]", "\0[REDACTED-HEADER_API_KEY]"):
        command = curl(sent(Request("POST", "http://h/", headers, body.encode())))
        args, stdin = run(command, tmp_path, "HEADER_API_KEY")
        assert {'api-key: k"e y', "X-Model: [REDACTED-HOME]"} < set(options(args, "--header"))
        assert [body.replace("[REDACTED-HEADER_API_KEY]", 'k"e y')] == (
            [stdin.decode()] if "@-" in args else options(args, "--data-raw")
        )


@pytest.mark.parametrize(
    ("method", "body", "expected"),
    [
        ("GET", b"", []),
        ("POST", b"x", []),
        ("POST", b"", ["--request", "POST"]),
        ("DELETE", b"", ["--request", "DELETE"]),
        ("GET", b"x", ["--request", "GET"]),
        ("HEAD", b"", ["--head"]),
    ],
)
def test_a_command_uses_the_same_method(method: str, body: bytes, expected: list[str], tmp_path: Path) -> None:
    args, _ = run(curl(sent(Request(method, "http://h/a[b]{c}", (("User-Agent", "u"),), body))), tmp_path)
    at = args.index("http://h/a[b]{c}")
    assert "--globoff" in args[:at]
    assert args[at + 1 : at + 1 + len(expected)] == expected
    assert ("--request" in args) == ("--request" in expected)


def test_a_command_sends_exactly_the_recorded_headers(tmp_path: Path) -> None:
    headers = (
        *(("Host", "h"), ("User-Agent", "u"), ("X-Empty", ""), ("X-Quote", "a'b\"c"), ("Content-Length", "1")),
        *(("Connection", "Upgrade"), ("Transfer-Encoding", "chunked")),
    )
    args, _ = run(curl(sent(Request("POST", "http://h/", headers, b"x"))), tmp_path)
    kept = ["User-Agent: u", "X-Empty;", "X-Quote: a'b\"c", "Connection: Upgrade", "Transfer-Encoding: chunked"]
    expected = [*kept, "Accept:", "Content-Type:"]
    assert options(args, "--header") == expected


@pytest.mark.parametrize(("body", "piped"), BODIES, ids=range(len(BODIES)))
def test_a_short_command_sends_the_same_body(body: bytes, piped: bool, tmp_path: Path) -> None:
    request = Request("POST", "http://h/v1", (("Content-Type", "application/json"),), body)
    args, stdin = run(short_curl(request), tmp_path)
    given = options(args, "--data-raw") + options(args, "-d")
    assert (["@-"] if piped else [], [] if piped else [body.decode()]) == (options(args, "--data-binary"), given)
    assert (body if piped else b"") == stdin


def test_a_short_command_has_one_line_and_only_the_headers_that_curl_does_not_send(tmp_path: Path) -> None:
    headers = (
        ("Accept", "*/*"), ("Accept-Encoding", "identity"), ("User-Agent", "chatproof"), ("Host", "h"),
        ("Content-Type", "application/json"), ("Authorization", f"Bearer {REDACTED}"), ("X-Empty", ""),
    )  # fmt: skip
    command = short_curl(Request("POST", "http://h/v1", headers, b'{"stream": true}'))
    args, _ = run(command, tmp_path)
    assert ["Content-Type: application/json", 'Authorization: Bearer k"e y', "X-Empty;"] == options(args, "-H")
    assert "\n" not in command
    assert command.startswith("curl -sSN http://h/v1 -H ")


@pytest.mark.parametrize(
    ("method", "url", "expected"),
    [
        ("GET", "http://h/v1", "curl -sS http://h/v1"),
        ("HEAD", "http://h/v1", "curl -sS http://h/v1 -I"),
        ("DELETE", "https://h/../v1", "curl -sS --path-as-is --http1.1 https://h/../v1 -X DELETE"),
        ("GET", "http://[::1]:1/v1", "curl -sS -g 'http://[::1]:1/v1'"),
    ],
)
def test_a_short_command_has_the_options_that_its_address_needs(method: str, url: str, expected: str) -> None:
    headers = (("Accept", "*/*"), ("User-Agent", "chatproof"))
    assert expected == short_curl(Request(method, url, headers, b""))
