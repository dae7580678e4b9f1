"""The dialects of the five vendor documents, without the interfaces to compare with, and their validators."""

from __future__ import annotations

from openapi.contract.contract import load, names
from openapi.description.validation import Validator
from openapi.tests.contract.compared_dialects import COMPARED

DIALECTS = sorted(set(names().values()).difference(COMPARED))
VALIDATORS = {dialect: Validator(load(dialect).with_server_limits()) for dialect in DIALECTS}
"""What our own server accepts: the bounds of the documents and its own limits."""
