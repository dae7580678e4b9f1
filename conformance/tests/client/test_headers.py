"""The user's own headers: on every request to the server, to nobody else, and the secret ones in no record."""

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
from conformance.tests.cli.test_check_command import NOBODY, one_line
from conformance.tests.faulty_proxy import Reply, Sinner
from conformance.tests.raw_server import KEY, Server, ask, call, saying, whole
from conformance.tests.report.test_results import echo

if TYPE_CHECKING:
    from collections.abc import Callable

    from conformance.tests.conftest import Said
    from conformance.tests.faulty_proxy import Forward, Sent

GATE = "gate-canary/9876543210"
MARK = "[REDACTED-HEADER_API_KEY]"


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch) -> None:
    values = {"GATE": GATE, "BEARING": f"Bearer {GATE}", "SHORT": "a b c"}
    for name, value in {**values, "KEY": KEY}.items():
        monkeypatch.setenv(name, value)


def values(sent: list[Sent], name: str) -> set[str]:
    return {each.headers.get(name, "") for each in sent}


def test_every_request_of_a_run_and_its_replay_carries_them_and_no_output_shows_a_secret(
    chatproof: Callable[..., Said],
) -> None:
    sent: list[Sent] = []

    async def sin(request: Sent, forward: Forward) -> Reply:
        sent.append(request)
        return echo(GATE, request)

    with Sinner("", sin) as server:
        kinds = ("junit=j.xml", "markdown=m.md", "html=h.html", "sarif=s.json", "badge=b.json", "json=results.json")
        checked = chatproof(
            "check", server.url, "--dialect", "siliconstorm", "--api-key-env", "KEY", "--wait", "5",
            "--only", "conversation", "--only", "key-*", "--only", "temperature-*",
            "-H", "X-Tenant:  acme", "--header", "user-agent: mine", "--header-env", "api-key=GATE",
            *(argument for kind in kinds for argument in ("--report", kind)),
        )  # fmt: skip
        assert checked.code == 1, checked.stderr
        assert {"/models", "/openapi.json"} <= {"/" + each.path.rpartition("/")[2] for each in sent}
        assert ({"acme"}, {"mine"}, {GATE}) == tuple(
            values(sent, name) for name in ("x-tenant", "user-agent", "api-key")
        )
        assert {"", f"Bearer {KEY}"} < values(sent, "authorization")  # those without a key, too
        sent.clear()
        again = ("replay", "results.json", "--id", "conversation/main", "--api-key-env", "KEY")
        refused = chatproof(*again)
        replayed = chatproof(*again, "--header-env", "API-Key=GATE", "-H", "x-tenant: other")
    assert (2, 1) == (refused.code, len(refused.stderr.splitlines()))
    assert "--header-env api-key=VAR" in refused.stderr
    (one,) = sent
    assert (replayed.code, one.headers["api-key"], one.headers["x-tenant"]) == (0, GATE, "other"), replayed.stdout
    assert "mine" == one.headers["user-agent"]
    said = (checked, refused, replayed)
    written = {path.name: path.read_text(encoding="utf-8") for path in checked.folder.iterdir()}
    outputs = {
        **written,
        "stdout": "".join(each.stdout for each in said),
        "stderr": "".join(each.stderr for each in said),
    }
    forms = [GATE, GATE.encode().hex(), base64.b64encode(GATE.encode()).decode()[:-4], KEY]
    assert not [name for name, text in outputs.items() for form in forms if form in text]
    assert (len(kinds), True) == (len(written), MARK in written["results.json"])
    commands = [exchange["curl"] for exchange in checked.results["exchanges"]]
    assert not [command for command in commands if "--header 'api-key: '\"$HEADER_API_KEY\"" not in command]
    assert not [command for command in commands if "--header 'X-Tenant: acme'" not in command]


def test_they_go_to_their_origin_only_and_a_calls_own_header_wins() -> None:
    async def main() -> None:
        async with Server(saying(whole(b""))) as server, Server(saying(whole(GATE.encode()))) as other:
            given = headers.read(["X-Tenant: acme", "user-agent: mine"], ["api-key=GATE"])
            async with Client(server.url, headers=given) as client:
                await client.send(call(with_key=False))
                await client.send(call(headers={"x-tenant": "own", "API-KEY": "wrong"}))
                abroad = await client.send(call(other.url + "/v1"))
            heads = [head.lower() for head, _ in (*server.requests, *other.requests)]
            found = [
                [line for line in head.split("\r\n") if line.startswith(("x-tenant", "api-key"))] for head in heads
            ]
            assert [["x-tenant: acme", f"api-key: {GATE}"], ["x-tenant: own", "api-key: wrong"], []] == found
            agents = [[line for line in head.split("\r\n") if line.startswith("user-agent")] for head in heads]
            assert [["user-agent: mine"], ["user-agent: mine"], ["user-agent: chatproof"]] == agents
            assert MARK == abroad.text  # it may have heard of the secret elsewhere

    asyncio.run(main())


def test_secrets_that_hold_each_other_leave_nothing_of_each_other(monkeypatch: pytest.MonkeyPatch) -> None:
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


def test_a_secret_of_several_words_is_known_by_each_long_one() -> None:
    given = headers.read([], ["X-Auth=BEARING"])
    exchange = ask(saying(whole(f"Bearer is no secret, {GATE} is".encode())), headers_of_client=given)
    assert "Bearer is no secret, [REDACTED-HEADER_X_AUTH] is" == exchange.text
    assert ("X-Auth", "[REDACTED-HEADER_X_AUTH]") in exchange.request.headers
    assert "--header 'X-Auth: '\"$HEADER_X_AUTH\" \\" in curl(exchange)
    assert GATE not in repr(given)


def test_a_wrong_key_of_the_scenarios_own_stays_in_a_replay() -> None:
    given = headers.read(["X-Api-Key: ours"], [])
    own = {"X-Api-Key": WRONG_KEY, "Accept": "application/json"}
    exchange = ask(saying(whole(b"")), headers=own, with_key=False, headers_of_client=given)
    assert own == dict(replay.build_call(exchange, with_key=False, deadline_s=1, given=given).headers)


REFUSED = {
    "no colon": (("--header", "X-Tenant acme"), "missing colon"),
    "the secret itself": (("--header-env", f"api-key={GATE}"), "invalid name of an environment variable"),
    "a secret too short to hide": (("--header-env", "api-key=SHORT"), "no word of 8 characters"),
    "names alike": (("--header-env", "api-key=GATE", "--header-env", "api.key=KEY"), "in punctuation only"),
}


@pytest.mark.parametrize("mistake", REFUSED)
def test_a_header_that_cannot_be_sent_or_hidden_gives_2_and_one_line(
    chatproof: Callable[..., Said], mistake: str
) -> None:
    arguments, hint = REFUSED[mistake]
    line = one_line(chatproof("check", NOBODY, "--dialect", "mindie", *arguments), 2)
    assert hint in line
    assert GATE not in line


def test_a_preview_names_them_and_shows_no_secret(chatproof: Callable[..., Said]) -> None:
    arguments = ("--dialect", "mindie", "-H", "X-Tenant: acme", "--header-env", "api-key=GATE")
    for kind in ("--dry-run", "--list"):
        said = chatproof("check", NOBODY, *arguments, kind, "--only", "conversation")
        assert "with every request: X-Tenant: acme, api-key (secret)" in said.stdout
        assert (0, False) == (said.code, GATE in said.stdout + said.stderr)
