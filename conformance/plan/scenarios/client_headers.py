"""Generate requests with the header fields that clients, SDKs, browsers, gateways and tracing add to any request.

None of them changes the answer. Several groups are sent in one request; if that one is not answered, each group is sent
alone. The request is greedy, so that its answer is compared with those of the same request without these fields.
"""

from __future__ import annotations

from base64 import urlsafe_b64encode
from typing import TYPE_CHECKING, Final

from conformance.plan.scenarios.fitting import Fitting
from conformance.scenario import Scenario, Step

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from openapi.contract.contract import Contract

TOGETHER: Final = "headers-together"
ALONE: Final = "headers-alone"
BODY: Final = {
    "messages": [{"role": "user", "content": "Tell me a story about the sea"}],
    "max_tokens": 12,
    "temperature": 0,
}
TOKEN_BYTES: Final = 2250
TOKEN: Final = ".".join(
    urlsafe_b64encode(part).decode().rstrip("=")
    for part in (b'{"alg":"none"}', b"chatproof" * (TOKEN_BYTES // 9), b"0" * 32)
)
"""A token of 3 KB, as identity providers issue them."""
MANY: Final = 60
GROUPS: Final[Mapping[str, Mapping[str, str]]] = {
    "accept-both": {"Accept": "application/json, text/event-stream"},
    "accept-events-first": {"Accept": "text/event-stream, application/json;q=0.9, */*;q=0.1"},
    "accept-charset": {"Accept": "application/json; charset=utf-8, text/plain, */*"},
    "type-with-charset": {"Content-Type": "application/json; charset=UTF-8"},
    "type-in-capitals": {"Content-Type": "Application/Json"},
    "organisation": {
        "OpenAI-Organization": "org-chatproof",
        "OpenAI-Project": "proj_chatproof",
        "OpenAI-Beta": "assistants=v2",
    },
    "sdk": {
        "User-Agent": "OpenAI/JS 6.9.1",
        "X-Stainless-Lang": "js",
        "X-Stainless-Package-Version": "6.9.1",
        "X-Stainless-OS": "MacOS",
        "X-Stainless-Arch": "arm64",
        "X-Stainless-Runtime": "node",
        "X-Stainless-Runtime-Version": "v22.11.0",
        "X-Stainless-Retry-Count": "1",
        "X-Stainless-Timeout": "600",
        "X-Stainless-Helper-Method": "stream",
    },
    "repetition": {"Idempotency-Key": "stainless-node-retry-3f1c", "X-Request-ID": "chatproof-3f1c"},
    "tracing": {
        "Traceparent": "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
        "Tracestate": "vendor=00f067aa0ba902b7,other=t61rcWkgMzE",
        "Baggage": "userId=alice,serverNode=DF%2028,isProduction=false",
        "B3": "80f198ee56343ba864fe8b2a57d3eff7-e457b5a2e4d86bd1-1",
        "Sentry-Trace": "771a43a4192642f0b136d5159a501700-1234567890abcdef-1",
    },
    "application": {"HTTP-Referer": "https://chatproof.example", "X-Title": "chatproof"},
    "caching": {"Cache-Control": "no-cache", "Pragma": "no-cache"},
    "preference": {"Prefer": "respond-async, wait=10"},
    "browser": {
        "Accept-Language": "fr-CH, fr;q=0.9, en;q=0.8, *;q=0.5",
        "Cookie": "session=3f1c; theme=dark",
        "DNT": "1",
        "Priority": "u=1, i",
        "Sec-CH-UA": '"Chromium";v="142", "Not_A Brand";v="99"',
        "Sec-CH-UA-Mobile": "?0",
        "Sec-Fetch-Dest": "empty",
        "Sec-Fetch-Mode": "cors",
        "Sec-Fetch-Site": "same-origin",
        "Sec-GPC": "1",
    },
    "gateway": {
        "Forwarded": 'for="[2001:db8::1]:4711";proto=https;by=203.0.113.43',
        "Via": "1.1 gateway.example",
        "X-Forwarded-For": "203.0.113.195, 2001:db8::1, 198.51.100.178",
        "X-Forwarded-Proto": "https",
        "X-Real-IP": "203.0.113.195",
    },
    "long-token": {"X-Id-Token": TOKEN},
    "many": {f"X-Chatproof-{number:02}": f"value {number}" for number in range(1, MANY + 1)},
    "closing": {"Connection": "close"},
}
"""Header fields by what sends them."""
PLAIN: Final = (
    ("accept-both", "organisation", "tracing", "application", "caching", "type-with-charset"),
    ("accept-charset", "long-token", "many", "closing", "preference", "gateway"),
)
STREAMED: Final = (
    (
        *("accept-both", "organisation", "sdk", "tracing", "browser", "gateway", "repetition", "preference"),
        "type-in-capitals",
    ),
    ("accept-events-first", "caching", "closing"),
)
"""The groups of each request; a group is sent alone as in the first request that has it."""


def generate(contract: Contract) -> tuple[Scenario, ...]:
    """Return the requests with several groups each, and those with one group in case that these are not answered."""
    return tuple(Fitting(contract).fit(_list_requests()))


def list_unfit(contract: Contract) -> Iterator[tuple[Scenario, str]]:
    """Yield the first request if the contract does not allow it, with the reason."""
    fitting = Fitting(contract)
    first = next(_list_requests())
    if not list(fitting.fit([first])):
        yield first, f"scenario {first.id}, {fitting.reasons[first.id]}"


def _list_requests() -> Iterator[Scenario]:
    alone: dict[str, Scenario] = {}
    requests = [*((names, False) for names in PLAIN), *((names, True) for names in STREAMED)]
    for number, (names, streams) in enumerate(requests, 1):
        identity = f"{TOGETHER}-{number}"
        yield _scenario(identity, names, streams=streams)
        for name in names:
            one = _scenario(f"{ALONE}-{name}", (name,), streams=streams, unless_answered=identity)
            alone.setdefault(name, one)
    yield from alone.values()


def _scenario(identity: str, names: tuple[str, ...], *, streams: bool, unless_answered: str = "") -> Scenario:
    headers = {field: value for name in names for field, value in GROUPS[name].items()}
    body = {**BODY, "stream": True} if streams else BODY
    summary = f"a request with header fields of clients: {', '.join(names)}"
    return Scenario(
        identity, summary, (Step(body=body, headers=headers, expect="either"),), unless_answered=unless_answered
    )
