"""ReasoningSplitter: reasoning and answer do not depend on how the text is split into pieces."""

from __future__ import annotations

from itertools import pairwise

import pytest

from reference_server.engine.text.reasoning import ReasoningSplitter


def _split(text: str, opened: bool) -> tuple[str, str]:
    """Return (reasoning, answer) of a whole text."""
    if text.lstrip().startswith("<think>"):
        text = text.lstrip().removeprefix("<think>")
    elif not opened:
        return "", text
    reasoning, _, answer = text.partition("</think>")
    return reasoning.strip("\n"), answer.lstrip("\n")


TEXTS = [
    "<think>\nfirst\n\nthen\n</think>\n\nThe answer.\n",
    " \n<think>a</think>b",
    "<think></think>",
    "<think>\n\n</think>\n\n",
    "<think>\n\n\n</think>\n\n\n \nx",
    "<think>a < b </ c </thin k></think></think>b</think>",
    "<think>a<think>b</think>c<think>d</think>e",
    "<think>never closed\n\n",
    "<think>cut </thi",
    "<think>cut\n</thi",
    "<think>",
    "<thi",
    "\n \n",
    "no thought\n<think>at all</think>",
    "<thinking></think>",
    "< think>x</think>",
    "thought\n</think>\nanswer",
    "\n\nthought</think>answer",
    "</think>answer",
    "\n</think>\n\nanswer",
    "",
    "思考</think>\n\n回答",
]


def _pieces(text: str, opened: bool, cuts: list[int]) -> tuple[str, str]:
    splitter = ReasoningSplitter("<think>", "</think>", opened=opened)
    reasoning, answer = "", ""
    for begin, end in pairwise([0, *cuts, len(text)]):
        before = splitter.thinking
        more_reasoning, more_answer = splitter.push(text[begin:end])
        assert before or not more_reasoning
        assert not (splitter.thinking and more_answer)
        reasoning, answer = reasoning + more_reasoning, answer + more_answer
    more_reasoning, more_answer = splitter.flush()
    assert splitter.flush() == ("", "")
    return reasoning + more_reasoning, answer + more_answer


@pytest.mark.parametrize("opened", [False, True])
@pytest.mark.parametrize("text", TEXTS)
def test_the_result_does_not_depend_on_the_cuts(text: str, opened: bool) -> None:
    expected = _split(text, opened)
    for first in range(len(text) + 1):
        for second in range(first, len(text) + 1):
            assert expected == _pieces(text, opened, [first, second])
    assert expected == _pieces(text, opened, list(range(len(text))))


def test_only_possible_markers_are_held_back() -> None:
    splitter = ReasoningSplitter("<think>", "</think>", opened=False)
    pieces = ["<", "think>", "\n", "a", " b\n", "c", "</", "d", "\n", "</think>", "\n", "\n", "e", "\n", "<think>"]
    expected = [*[("", "")] * 3, ("a", ""), (" b", ""), ("\nc", ""), ("", ""), ("</d", ""), *[("", "")] * 4]
    assert [*expected, ("", "e"), ("", "\n"), ("", "<think>")] == [splitter.push(piece) for piece in pieces]
