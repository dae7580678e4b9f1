"""StopScanner: stop strings, however the text is split."""

from __future__ import annotations

from itertools import pairwise

import pytest

from reference_server.engine.text.stop_scanner import StopScanner


def _scan_by_character(text: str, stops: tuple[str, ...], include: bool) -> tuple[str, bool]:
    """Return the result of reading on until a stop string is at the end."""
    for end in range(1, len(text) + 1):
        ending = [stop for stop in stops if text[:end].endswith(stop)]
        if ending:
            return (text[:end] if include else text[: end - max(map(len, ending))]), True
    return text, False


STOPS = [
    ("ab",),
    ("aab", "b"),
    ("abc", "b"),
    ("aaa",),
    ("ab", "abab"),
    ("。",),
    ("世界", "a世"),
    ("abcab", "cabb"),
    ("never",),
    (),
]


@pytest.mark.parametrize("include", [False, True])
@pytest.mark.parametrize("stops", STOPS, ids=str)
def test_stop_strings_are_found_at_every_cut_and_never_released(stops: tuple[str, ...], include: bool) -> None:
    texts = ["abcabb", "aabab", "aaab", "xxa世界b", "你好。世界", "abab", "nev", "neverever"]
    for text in texts:
        expected = _scan_by_character(text, stops, include)
        for first in range(len(text) + 1):
            for second in range(first, len(text) + 1):
                scanner = StopScanner(stops, include)
                released, matched = "", False
                for begin, end in pairwise([0, first, second, len(text)]):
                    if matched:
                        break
                    piece, matched = scanner.push(text[begin:end])
                    released += piece
                    assert expected[0].startswith(released)
                assert expected == (released if matched else released + scanner.flush(), matched)


def test_only_possible_stop_strings_are_held_back() -> None:
    scanner = StopScanner(("END", "\n\n"), include_stop=False)
    pieces = ["a", "E", "x", "EN", "EN", "\n", "b"]
    assert [scanner.push(piece)[0] for piece in pieces] == ["a", "", "Ex", "", "EN", "EN", "\nb"]


def test_held_back_text_is_released_once() -> None:
    scanner = StopScanner(("END",), include_stop=False)
    assert scanner.push("aEN") == ("a", False)
    assert scanner.flush() == "EN"
    assert scanner.flush() == ""
