"""Contracts and validators of the two interfaces that users compare with, and tool calls that are valid for both."""

from __future__ import annotations

from openapi.contract.contract import Contract, load
from openapi.description.validation import Validator

COMPARED = ("openai", "vllm")
CONTRACTS: dict[str, Contract] = {dialect: load(dialect) for dialect in COMPARED}
VALIDATORS = {dialect: Validator(contract) for dialect, contract in CONTRACTS.items()}

WEATHER = {"type": "function", "function": {"name": "get_weather"}}

CALL = {"id": "call-1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
