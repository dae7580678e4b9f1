"""The words of the pages: plain text, sizes, types and literals."""

from __future__ import annotations

from openapi.reading.grammar.vocabulary import literal, plain, size, type_of


def test_plain_text_keeps_every_place() -> None:
    text = "\uff08a\uff0cb\uff3d\uff1a\u201cc\u201d\u00a0`d`\u2014\uff5e"
    assert len(text) == len(plain(text))
    assert plain(text) == '(a,b]:"c"  d -~'


def test_sizes_types_and_literals() -> None:
    assert [size(each) for each in ("1B", "1 KB", "4MB", "3GB", "0.5KB", "4 apples")] == [
        1,
        2**10,
        4 * 2**20,
        3 * 2**30,
        512,
        None,
    ]
    assert [type_of(each) for each in ("text", "List[blob]", "")] == [None, None, None]
    assert [
        str(literal("what")),
        *(literal(each) for each in ("1", "1.5", "null", '"x"')),
    ] == ["unstated", 1, 1.5, None, "x"]
