"""Parser of tool calls in every format: any split into pieces, malformed calls, and calls that never end."""

from __future__ import annotations

from itertools import pairwise
from random import Random

import pytest

from reference_server.engine import Tool, ToolUse
from reference_server.engine.partial_match import partial_match_length
from reference_server.engine.tools.tool_format import CHATGLM3, DEEPSEEK_R1, HERMES, ToolFormat, detect_format
from reference_server.engine.tools.tool_parser import CallParser

ANY = '{"type": "object"}'
USE = ToolUse((Tool("get_weather", '"get_weather"', ANY, None), Tool("get_time", '"get_time"', ANY, None)))
ROME = '{"city": "Rome", "note": "a \\"}{\\" b", "at": [1, {"x": []}]}'

HERMES_CALL = '<tool_call>\n{"name": "get_weather", "arguments": ' + ROME + "}\n</tool_call>"
DEEPSEEK_CALL = "<｜tool▁call▁begin｜>function<｜tool▁sep｜>get_weather\n```json\n" + ROME + "\n```<｜tool▁call▁end｜>"
DEEPSEEK = "<｜tool▁calls▁begin｜>{}<｜tool▁calls▁end｜>"
CHATGLM = "get_weather\n ```python\ntool_call(city='Rome', note=\"it's\", at=[1, {'x': True}], far=None)\n```"
CHATGLM_ARGUMENTS = '{"city": "Rome", "note": "it\'s", "at": [1, {"x": true}], "far": null}'


def parse(form: ToolFormat, pieces: list[str], *, cut: bool = False) -> tuple[str, list[tuple[str, str]]]:
    """Return (content, calls) of text in pieces."""
    parser = CallParser(form, USE)
    content = ""
    calls: list[list[str]] = []
    for piece in pieces:
        text, call_pieces = parser.push(piece)
        content += text
        for call_piece in call_pieces:
            if call_piece.name is not None:
                assert len(calls) == call_piece.index
                calls.append([call_piece.name, ""])
            calls[call_piece.index][1] += call_piece.arguments
    return content + parser.flush(cut=cut), [(name, arguments) for name, arguments in calls]


CASES = {
    "hermes": (HERMES, HERMES_CALL, "", [("get_weather", ROME)]),
    "hermes, text before": (HERMES, "Let me look.\n\n" + HERMES_CALL, "Let me look.", [("get_weather", ROME)]),
    "hermes, two": (HERMES, f"{HERMES_CALL}\n{HERMES_CALL}\n", "", [("get_weather", ROME)] * 2),
    "hermes, text after": (HERMES, f"{HERMES_CALL}\nThere.", "There.", [("get_weather", ROME)]),
    "hermes, compact": (
        HERMES,
        '<tool_call>{"name":"get_time","arguments":{}}</tool_call>',
        "",
        [("get_time", "{}")],
    ),
    "hermes, none": (HERMES, "1 < 2 <tool> <tool_cal", "1 < 2 <tool> <tool_cal", []),
    "hermes, unknown tool": (
        HERMES,
        '<tool_call>{"name": "rm", "arguments": {}}</tool_call> x',
        '<tool_call>{"name": "rm", "arguments": {}}</tool_call> x',
        [],
    ),
    "hermes, a list": (
        HERMES,
        '<tool_call>{"name": "get_time", "arguments": []}</tool_call>',
        '<tool_call>{"name": "get_time", "arguments": []}</tool_call>',
        [],
    ),
    "hermes, opened twice": (
        HERMES,
        "<tool_call><tool_call>" + HERMES_CALL,
        "<tool_call><tool_call>",
        [("get_weather", ROME)],
    ),
    "deepseek": (DEEPSEEK_R1, DEEPSEEK.format(DEEPSEEK_CALL), "", [("get_weather", ROME)]),
    "deepseek, two": (
        DEEPSEEK_R1,
        "I look.\n" + DEEPSEEK.format(f"{DEEPSEEK_CALL}\n{DEEPSEEK_CALL}") + "\nDone",
        "I look.Done",
        [("get_weather", ROME)] * 2,
    ),
    "deepseek, none": (DEEPSEEK_R1, "<｜tool▁calls▁begin｜> x", "<｜tool▁calls▁begin｜> x", []),
    "chatglm3": (CHATGLM3, CHATGLM, "", [("get_weather", CHATGLM_ARGUMENTS)]),
    "chatglm3, two": (
        CHATGLM3,
        f"{CHATGLM}<|assistant|>get_time\n ```python\ntool_call()\n```",
        "",
        [("get_weather", CHATGLM_ARGUMENTS), ("get_time", "{}")],
    ),
    "chatglm3, none": (CHATGLM3, "\n It is sunny.", " It is sunny.", []),
    "chatglm3, only a name": (CHATGLM3, "get_weather\nis a tool", "get_weather\nis a tool", []),
}


@pytest.mark.parametrize("case", CASES)
def test_the_result_does_not_depend_on_the_cuts(case: str) -> None:
    form, text, content, calls = CASES[case]
    assert (content, calls) == parse(form, [text])
    for at in range(len(text) + 1):
        assert (content, calls) == parse(form, [text[:at], text[at:]]), at
    assert (content, calls) == parse(form, list(text))
    rng = Random(case)
    for _ in range(50):
        cuts = sorted(rng.choices(range(len(text) + 1), k=6))
        assert (content, calls) == parse(form, [text[a:b] for a, b in pairwise([0, *cuts, len(text)])])


@pytest.mark.parametrize("case", [case for case, (_, _, _, calls) in CASES.items() if calls])
def test_a_truncated_answer_gives_the_beginning_of_its_text_and_calls(case: str) -> None:
    form, text, content, calls = CASES[case]
    for end in range(len(text)):
        cut_content, cut_calls = parse(form, [text[:end]], cut=True)
        if not partial_match_length(text[:end], (form.marker or "\n",)):  # which may be content
            assert content.startswith(cut_content.rstrip())
        for (name, arguments), (whole_name, whole_arguments) in zip(cut_calls, calls, strict=False):
            assert (whole_name, True) == (name, whole_arguments.startswith(arguments))


def test_no_text_is_lost_without_a_call() -> None:
    rng = Random(7)
    parts = ["<tool_call>", "</tool_call>", '{"name": ', '"get_time"', ', "arguments": ', "[", "}", "\n", " ", "x", '"']
    for _ in range(300):
        text = "".join(rng.choices(parts, k=12))
        content, calls = parse(HERMES, list(text))
        if not calls:
            assert "".join(text.split()) == "".join(content.split())


TEMPLATES = {
    "{%- for tool_call in message.tool_calls %}<tool_call>\n{{ tool_call.name }}": HERMES,
    "{{'<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>' + tool['type'] + '<｜tool▁sep｜>'": DEEPSEEK_R1,
    "{% if loop.first %}[gMASK]sop<|{{ message['role'] }}|>\n{% endif %}<|assistant|>": CHATGLM3,
    "{% for message in messages %}{{ message.content }}{% endfor %}": None,
}


@pytest.mark.parametrize("template", TEMPLATES)
def test_the_format_is_detected_from_the_chat_template(template: str) -> None:
    assert TEMPLATES[template] == detect_format(template)
