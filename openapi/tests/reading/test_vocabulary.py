"""The vocabulary of cells: normalized characters, sizes, types and literals."""

from __future__ import annotations

from openapi.reading.grammar.vocabulary import normalize, parse_literal, parse_size, parse_type


def test_normalizing_keeps_every_offset() -> None:
    text = "\uff08a\uff0cb\uff3d\uff1a\u201cc\u201d\u00a0`d`\u2014\uff5e"
    assert len(text) == len(normalize(text))
    assert normalize(text) == '(a,b]:"c"  d -~'


def test_sizes_types_and_literals() -> None:
    assert [parse_size(text) for text in ("1B", "1 KB", "4MB", "3GB", "0.5KB", "4 apples")] == [
        1,
        2**10,
        4 * 2**20,
        3 * 2**30,
        512,
        None,
    ]
    assert [parse_type(word) for word in ("text", "List[blob]", "")] == [None, None, None]
    assert [
        str(parse_literal("what")),
        *(parse_literal(text) for text in ("1", "1.5", "null", '"x"')),
    ] == ["unstated", 1, 1.5, None, "x"]
