"""Independent opinions on a request body: what other validators make of the same description.

And the cases that schemathesis makes of it. The tests and the figures of `lint/` are made of these.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import hypothesis
import jsonschema  # type: ignore[import-untyped]
import schemathesis
from openapi_core import Config, OpenAPI
from openapi_core.testing import MockRequest
from schemathesis.generation import GenerationMode

from openapi.contract.resolution import members
from openapi.description.description import COMPONENTS, REQUEST, describe
from openapi.description.validation import BodyRequest, Validator
from openapi.tests.contract.generated_bodies import bodies

if TYPE_CHECKING:
    from collections.abc import Callable

    from openapi.contract.contract import Contract

    Opinion = Callable[[Any], bool]


def jsonschema_rs(contract: Contract) -> Opinion:
    """jsonschema-rs alone, as the suite uses it."""
    validator = Validator(contract)
    return lambda body: not validator.request_problems(body)


def server(contract: Contract) -> Opinion:
    """openapi-core with jsonschema-rs behind it, as the reference server uses it."""
    validator = Validator(contract)
    return lambda body: not validator.refusals(BodyRequest(contract.path, json.dumps(body).encode()))


def openapi_core(contract: Contract) -> Opinion:
    """openapi-core as it is installed, with its own schema backend.

    Discriminators are left out: they annotate, and the backend raises TypeError where a tag is a list.
    """
    document = describe(contract)
    for key, _, holder in list(members(document)):
        if key == "discriminator":
            del holder[key]
    app = OpenAPI.from_dict(document, config=Config(spec_validator_cls=None))

    def accepts(body: Any) -> bool:
        sent = json.dumps(body).encode()
        request = MockRequest("http://h", "post", contract.path, headers={"Authorization": "Bearer key"}, data=sent)
        return not any(app.iter_request_errors(request))

    return accepts


def python_jsonschema(contract: Contract) -> Opinion:
    """The Python package jsonschema, which knows none of our own keywords."""
    root = {"$ref": f"{COMPONENTS}{REQUEST}", "components": describe(contract)["components"]}
    validator = jsonschema.Draft202012Validator(root)
    return lambda body: bool(validator.is_valid(body))


def agreed_bodies(contract: Contract, count: int, seed: int = 1) -> tuple[list[Any], list[Any]]:
    """So many bodies that jsonschema-rs takes, and as many that it refuses."""
    accepts = jsonschema_rs(contract)
    valid: list[Any] = []
    invalid: list[Any] = []
    for body in bodies(contract, seed):
        (valid if accepts(body) else invalid).append(body)
        if len(valid) >= count and len(invalid) >= count:
            break
    return valid[:count], invalid[:count]


def coverage_cases(contract: Contract, document: dict[str, Any]) -> list[schemathesis.Case]:
    """The coverage cases that schemathesis makes for the chat operation of a document."""
    schema = schemathesis.openapi.from_dict(document)
    return list(
        schema.iter_coverage_cases(
            schema[contract.path]["POST"],
            generation_modes=[GenerationMode.POSITIVE, GenerationMode.NEGATIVE],
            generation_config=schema.config.generation,
        )
    )


def positive_bodies(cases: list[schemathesis.Case]) -> list[Any]:
    """The bodies that schemathesis takes for valid."""
    return [
        case.body for case in cases if case.meta is not None and case.meta.generation.mode is GenerationMode.POSITIVE
    ]


def drawn_bodies(contract: Contract, count: int) -> list[Any]:
    """Bodies that schemathesis draws by chance from the description, valid ones by its own account."""
    drawn: list[Any] = []
    operation = schemathesis.openapi.from_dict(describe(contract))[contract.path]["POST"]
    settings = hypothesis.settings(
        max_examples=count,
        phases=[hypothesis.Phase.generate],
        database=None,
        deadline=None,
        derandomize=True,
        suppress_health_check=list(hypothesis.HealthCheck),
    )
    strategy = operation.as_strategy(generation_mode=GenerationMode.POSITIVE)
    collect: Any = hypothesis.given(strategy)(lambda case: drawn.append(case.body))  # type: ignore[no-untyped-call]
    settings(collect)()
    return drawn
