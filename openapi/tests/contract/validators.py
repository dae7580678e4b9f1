"""Independent validators for a request body, and the test cases that schemathesis generates from the description.

The tests and `lint/descriptions.py` use them.
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

from openapi.contract.tree.delta import walk_tree
from openapi.description.body_request import BodyRequest
from openapi.description.description import REQUEST, describe
from openapi.description.validation import Validator
from openapi.schema.json_schema import REFERENCE
from openapi.tests.contract.generated_bodies import bodies

if TYPE_CHECKING:
    from collections.abc import Callable

    from openapi.contract.contract import Contract

    IsValid = Callable[[Any], bool]


def jsonschema_rs(contract: Contract) -> IsValid:
    """Validate with jsonschema-rs, as the suite does."""
    validator = Validator(contract)
    return lambda body: not validator.request_problems(body)


def server(contract: Contract) -> IsValid:
    """Validate with openapi-core and jsonschema-rs, as the reference server does."""
    validator = Validator(contract)
    return lambda body: not validator.refusals(BodyRequest(contract.path, json.dumps(body).encode()))


def openapi_core(contract: Contract) -> IsValid:
    """Validate with openapi-core and its default schema backend.

    Discriminators are removed: they are annotations, and the backend raises TypeError if a tag is a list.
    """
    document = describe(contract)
    for key, _, holder in list(walk_tree(document)):
        if key == "discriminator":
            del holder[key]
    app = OpenAPI.from_dict(document, config=Config(spec_validator_cls=None))

    def accepts(body: Any) -> bool:
        data = json.dumps(body).encode()
        request = MockRequest("http://h", "post", contract.path, headers={"Authorization": "Bearer key"}, data=data)
        return not any(app.iter_request_errors(request))

    return accepts


def python_jsonschema(contract: Contract) -> IsValid:
    """Validate with the Python package jsonschema, which does not know our own keywords."""
    root = {"$ref": f"{REFERENCE}{REQUEST}", "components": describe(contract)["components"]}
    validator = jsonschema.Draft202012Validator(root)
    return lambda body: bool(validator.is_valid(body))


def agreed_bodies(contract: Contract, count: int, seed: int = 1) -> tuple[list[Any], list[Any]]:
    """Return `count` bodies that jsonschema-rs accepts and `count` bodies that it rejects."""
    accepts = jsonschema_rs(contract)
    valid: list[Any] = []
    invalid: list[Any] = []
    for body in bodies(contract, seed):
        (valid if accepts(body) else invalid).append(body)
        if len(valid) >= count and len(invalid) >= count:
            break
    return valid[:count], invalid[:count]


def coverage_cases(contract: Contract, document: dict[str, Any]) -> list[schemathesis.Case]:
    """Return the coverage cases that schemathesis generates for the chat operation of a document."""
    schema = schemathesis.openapi.from_dict(document)
    return list(
        schema.iter_coverage_cases(
            schema[contract.path]["POST"],
            generation_modes=[GenerationMode.POSITIVE, GenerationMode.NEGATIVE],
            generation_config=schema.config.generation,
        )
    )


def positive_bodies(cases: list[schemathesis.Case]) -> list[Any]:
    """Return the bodies that schemathesis labels as valid."""
    return [
        case.body for case in cases if case.meta is not None and case.meta.generation.mode is GenerationMode.POSITIVE
    ]


def drawn_bodies(contract: Contract, count: int) -> list[Any]:
    """Return random bodies from the description that schemathesis labels as valid."""
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
