"""The dialects of the five vendor documents, without the interfaces to compare with, and their validators."""

from __future__ import annotations

from openapi.contract.contract import load, names
from openapi.description.validation import Validator
from openapi.tests.contract.compared_dialects import COMPARED

DIALECTS = sorted(set(names().values()).difference(COMPARED))
VALIDATORS = {dialect: Validator(load(dialect)) for dialect in DIALECTS}
