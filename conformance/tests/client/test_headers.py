"""The user's own headers are sent with every request to the server only, and secret values are never recorded."""

from __future__ import annotations

import asyncio
import base64
import json
from typing import TYPE_CHECKING

import pytest

from conformance.client import headers
from conformance.client.client import Client
from conformance.client.curl import curl
from conformance.client.secret import Secret
from conformance.errors import UsageError
from conformance.replay import resend as replay
from conformance.run.calls import WRONG_KEY
from conformance.tests.cli.command_line_errors import UNREACHABLE, one_line
from conformance.tests.faulty_proxy import FaultyProxy, Reply
from conformance.tests.raw_server import KEY, Server, ask, call, saying, whole
from conformance.tests.report.test_results import echo

if TYPE_CHECKING:
    from collections.abc import Callable

    from conformance.tests.conftest import CommandResult
    from conformance.tests.faulty_proxy import Forward, Sent

GATE = "gate-canary/9876543210"
MARK = "[REDACTED-HEADER_API_KEY]"


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch) -> None:
    values = {"GATE": GATE, "BEARING": f"Bearer {GATE}", "SHORT": "a b c"}
    for name, value in {**values, "KEY": KEY}.items():
        monkeypatch.setenv(name, value)


def values(sent: list[Sent], name: str) -> set[str]:
    return {request.headers.get(name, "") for request in sent}


def test_all_requests_of_a_run_and_its_replay_have_the_headers_and_no_output_has_a_secret(
    chatproof: Callable[..., CommandResult],
) -> None:
    sent: list[Sent] = []

    async def answer(request: Sent, forward: Forward) -> Reply:
        sent.append(request)
        return echo(GATE, request)

    with FaultyProxy("", answer) as server:
        kinds = ("junit=j.xml", "markdown=m.md", "html=h.html", "sarif=s.json", "badge=b.json", "json=results.json")
        checked = chatproof(
            "check", server.url, "--dialect", "siliconstorm", "--api-key-env", "KEY", "--wait", "5",
            "--only", "conversation", "--only", "key-*", "--only", "temperature-*",
            "-H", "X-Tenant:  acme", "--header", "user-agent: mine", "--header-env", "api-key=GATE",
            *(argument for kind in kinds for argument in ("--report", kind)),
        )  # fmt: skip
        assert checked.code == 1, checked.stderr
        assert {"/models", "/openapi.json"} <= {"/" + request.path.rpartition("/")[2] for request in sent}
        assert ({"acme"}, {"mine"}, {GATE}) == tuple(
            values(sent, name) for name in ("x-tenant", "user-agent", "api-key")
        )
        assert {"", f"Bearer {KEY}"} < values(sent, "authorization")  # also those without a key
        sent.clear()
        again = ("replay", "results.json", "--id", "conversation/main", "--api-key-env", "KEY")
        refused = chatproof(*again)
        replayed = chatproof(*again, "--header-env", "API-Key=GATE", "-H", "x-tenant: other")
    assert (2, 1) == (refused.code, len(refused.stderr.splitlines()))
    assert "--header-env api-key=VAR" in refused.stderr
    (one,) = sent
    assert (replayed.code, one.headers["api-key"], one.headers["x-tenant"]) == (1, GATE, "other"), replayed.stdout
    assert "mine" == one.headers["user-agent"]
    results = (checked, refused, replayed)
    written = {path.name: path.read_text(encoding="utf-8") for path in checked.folder.iterdir()}
    outputs = {
        **written,
        "stdout": "".join(result.stdout for result in results),
        "stderr": "".join(result.stderr for result in results),
    }
    forms = [GATE, GATE.encode().hex(), base64.b64encode(GATE.encode()).decode()[:-4], KEY]
    assert not [name for name, text in outputs.items() for form in forms if form in text]
    assert (len(kinds), True) == (len(written), MARK in written["results.json"])
    commands = [exchange["curl"] for exchange in checked.results["exchanges"]]
    assert not [command for command in commands if "--header 'api-key: '\"$HEADER_API_KEY\"" not in command]
    assert not [command for command in commands if "--header 'X-Tenant: acme'" not in command]


def test_headers_go_to_their_origin_only_and_those_of_a_call_replace_them() -> None:
    async def main() -> None:
        async with Server(saying(whole(b""))) as server, Server(saying(whole(GATE.encode()))) as other:
            given = headers.read(["X-Tenant: acme", "user-agent: mine"], ["api-key=GATE"])
            async with Client(server.url, headers=given) as client:
                await client.send(call(with_key=False))
                await client.send(call(headers={"x-tenant": "own", "API-KEY": "wrong"}))
                elsewhere = await client.send(call(other.url + "/v1"))
            heads = [head.lower() for head, _ in (*server.requests, *other.requests)]
            sent = [[line for line in head.split("\r\n") if line.startswith(("x-tenant", "api-key"))] for head in heads]
            assert [["x-tenant: acme", f"api-key: {GATE}"], ["x-tenant: own", "api-key: wrong"], []] == sent
            agents = [[line for line in head.split("\r\n") if line.startswith("user-agent")] for head in heads]
            assert [["user-agent: mine"], ["user-agent: mine"], ["user-agent: chatproof"]] == agents
            assert MARK == elsewhere.text  # redacted although the header was not sent there

    asyncio.run(main())


def test_secrets_that_contain_each_other_are_redacted_completely(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LONGER", f"{KEY}-and-more")
    monkeypatch.setenv("PART", KEY[:9])
    given = headers.read([], ["x-longer=LONGER", "x-part=PART", "x-same=KEY"])
    answer = f"{KEY}-and-more {KEY} {KEY[:9]}"
    exchange = ask(saying(whole(answer.encode())), secret=Secret(KEY), headers_of_client=given)
    assert "[REDACTED-HEADER_X_LONGER] [REDACTED] [REDACTED-HEADER_X_PART]" == exchange.text
    assert KEY[:9] not in json.dumps(exchange.to_dict())
    with pytest.raises(UsageError, match="--header-env x-longer=VAR"):
        replay.build_call(exchange, with_key=True, deadline_s=1)
    assert replay.build_call(exchange, with_key=True, deadline_s=1, given=given).with_key
    monkeypatch.setenv("BOTH", f"Bearer {KEY}")
    both = headers.read([], ["x=BOTH"])
    altered = ask(saying(whole(b"")), secret=Secret(KEY), alteration="longer", headers_of_client=both)
    assert "longer" == replay.build_call(altered, with_key=True, deadline_s=1, given=both).alteration


def test_each_long_word_of_a_secret_is_redacted() -> None:
    given = headers.read([], ["X-Auth=BEARING"])
    exchange = ask(saying(whole(f"Bearer: not secret, {GATE} is".encode())), headers_of_client=given)
    assert "Bearer: not secret, [REDACTED-HEADER_X_AUTH] is" == exchange.text
    assert ("X-Auth", "[REDACTED-HEADER_X_AUTH]") in exchange.request.headers
    assert "--header 'X-Auth: '\"$HEADER_X_AUTH\" \\" in curl(exchange)
    assert GATE not in repr(given)


def test_a_replay_keeps_the_wrong_key_of_a_scenario() -> None:
    given = headers.read(["X-Api-Key: ours"], [])
    own = {"X-Api-Key": WRONG_KEY, "Accept": "application/json"}
    exchange = ask(saying(whole(b"")), headers=own, with_key=False, headers_of_client=given)
    assert own == dict(replay.build_call(exchange, with_key=False, deadline_s=1, given=given).headers)


REFUSED = {
    "no colon": (("--header", "X-Tenant acme"), "missing colon"),
    "the secret itself": (("--header-env", f"api-key={GATE}"), "invalid name of an environment variable"),
    "a secret too short to redact": (("--header-env", "api-key=SHORT"), "a word of at least 8 characters"),
    "similar names": (("--header-env", "api-key=GATE", "--header-env", "api.key=KEY"), "only in punctuation"),
}


@pytest.mark.parametrize("mistake", REFUSED)
def test_an_invalid_header_gives_exit_code_2_and_one_line(
    chatproof: Callable[..., CommandResult], mistake: str
) -> None:
    arguments, hint = REFUSED[mistake]
    line = one_line(chatproof("check", UNREACHABLE, "--dialect", "mindie", *arguments), 2)
    assert hint in line
    assert GATE not in line


def test_a_preview_lists_the_headers_without_secrets(chatproof: Callable[..., CommandResult]) -> None:
    arguments = ("--dialect", "mindie", "-H", "X-Tenant: acme", "--header-env", "api-key=GATE")
    for kind in ("--dry-run", "--list"):
        result = chatproof("check", UNREACHABLE, *arguments, kind, "--only", "conversation")
        assert "with every request: X-Tenant: acme, api-key (secret)" in result.stdout
        assert (0, False) == (result.code, GATE in result.stdout + result.stderr)
