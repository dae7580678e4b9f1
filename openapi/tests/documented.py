"""The dialects of vendors' documents, which are not those to compare with, and their validators."""

from __future__ import annotations

from openapi.contract import load, names
from openapi.tests.compared import COMPARED
from openapi.validation import Validator

DIALECTS = sorted(set(names().values()).difference(COMPARED))
VALIDATORS = {dialect: Validator(load(dialect)) for dialect in DIALECTS}
