"""Recognise what a column of a table says by its header: the words of the field, or a word that hints at them."""

from __future__ import annotations

import re
from typing import Literal

from openapi.reading.grammar.vocabulary import ABSENT

Column = Literal[
    "name",
    "required",
    "omissible",
    "type",
    "prose",
    "value",
    "range",
    "values",
    "minimum",
    "maximum",
    "default",
    "support",
    "other",
]

_HEADERS: dict[Column, tuple[str, ...]] = {
    "name": (
        *("parameter", "parameter name", "param", "parameters", "field", "field name", "name", "参数", "参数名"),
        *(
            "参数名称",
            "attribute",
            "property",
            "key",
            "argument",
            "option",
            "字段",
            "字段名",
            "字段名称",
            "属性",
            "名称",
        ),
    ),
    "required": (
        "required",
        "mandatory",
        "mandatory/optional",
        "required/optional",
        "是否必选",
        "是否必填",
        "必选/可选",
        *(
            "required?",
            "is required",
            "presence",
            "必选",
            "必填",
            "必须",
            "必需",
            "必传",
            "是否必须",
            "是否必需",
            "是否必传",
        ),
    ),
    "omissible": ("optional", "optional?", "is optional"),
    "type": ("type", "data type", "types", "type/default", "format", "类型", "参数类型", "数据类型"),
    "prose": ("description", "descriptions", "desc", "details", "meaning", "说明", "描述", "参数说明", "含义", "备注"),
    "value": ("value", "value requirement", "value requirements", "constraints", "limits", "取值要求", "取值"),
    "range": ("range", "valid range", "value range", "allowed range", "范围", "取值范围", "有效范围"),
    "values": (
        *("values", "possible values", "allowed values", "accepted values", "valid values", "supported values"),
        *("available options", "options", "enum", "可选值", "枚举值"),
    ),
    "minimum": ("min", "minimum", "min value", "最小值"),
    "maximum": ("max", "maximum", "max value", "最大值"),
    "default": ("default", "defaults", "default value", "默认值", "默认"),
}
_BY_WORD = {word: column for column, words in _HEADERS.items() for word in words}
_HINTS: tuple[tuple[Column, str], ...] = (
    (
        "omissible",
        r"^(?!.*\b(?:required|mandatory)\b).*"
        rf"(?:\boptional\b|\b(?:can|may|could) (?:it )?(?:be )?{ABSENT}|\bomittable\b)",
    ),
    (
        "default",
        rf"\b(?:defaults?|presets?|falls?[- ]?backs?(?: to)?|{ABSENT}|(?:leave|leaving) (?:it )?out|omitting it|absence"
        r"|standard value|initial value)\b|默认|缺省",
    ),
    (
        "required",
        r"\b(?:required|mandatory|optional|presence|needed|compulsory|obligatory|must be (?:sent|given|present|set))\b"
        r"|必选|必填|必须|必需|必传",
    ),
    ("minimum", r"\b(?:min|minimum|at least|lowest|smallest)\b|最小"),
    ("maximum", r"\b(?:max|maximum|at most|highest|largest)\b|最大"),
    ("range", r"\b(?:range|bounds?|interval)\b|范围"),
    ("values", r"\b(?:allowed|accepted|possible|permitted|valid|supported) \w+|\b(?:choices|enum\w*|values)\b|可选值"),
    ("value", r"\b(?:constraints?|limits?|restrictions?|validation)\b|限制|约束|取值"),
    ("type", r"\b(?:type|types|kind|format|schema)\b|类型"),
    (
        "prose",
        r"\b(?:descri\w+|notes?|comments?|remarks?|explanations?|meaning|details?|purpose|usage|summary)\b|说明|描述",
    ),
    ("name", r"\b(?:parameters?|params?|arguments?|fields?|propert\w+|attributes?)\b|参数|字段"),
)
"""Words by which an unknown header is understood, in the order in which they count."""


def parse_column(header: str) -> Column | None:
    """Return the column that a header names; None for an unknown header."""
    return _BY_WORD.get(" ".join(header.lower().strip("*: ").split()))


def guess_column(header: str) -> Column | None:
    """Return the column that a header names, or that one of its words hints at."""
    known = parse_column(header)
    return known or next((column for column, words in _HINTS if re.search(words, header, re.IGNORECASE)), None)
