"""A request reader for each dialect, and a helper that reads a request with some parameters."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

from openapi.contract.contract import Contract, load
from reference_server.http.served_contract import TEXT_ONLY, served_contract
from reference_server.request.chat_request import ChatRequest, RequestReader

MESSAGES = [{"role": "user", "content": "Hello!"}]


@cache
def reader(dialect: str = "mindie") -> RequestReader:
    return RequestReader(contract_of(dialect), "m")


def contract_of(dialect: str = "mindie") -> Contract:
    return served_contract(load(dialect), bearer=False, lacking=TEXT_ONLY)


def read(dialect: str = "mindie", /, **parameters: Any) -> ChatRequest:
    body = {"model": "m", "messages": MESSAGES, **parameters}
    return reader(dialect).read(json.dumps(body).encode())
