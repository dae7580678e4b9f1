"""Requests that show the eighteenth set of blind faults: some to a server of its own for each."""

from __future__ import annotations

from typing import Any

from reference_server.tests.blind.eleventh_requests import formed
from reference_server.tests.blind.sixth_requests import (
    RED_IMAGE,
    SCORES,
    SUM,
    THINK,
    TWO_CITIES,
    say,
    show,
)
from reference_server.tests.blind.steps import (
    FUNCTION,
    LONG,
    RESULT,
    STORY,
    WEATHER,
    Step,
    ask,
    call,
    tool,
)
from reference_server.tests.blind.tenth_requests import closed

CALLED = RESULT[1]["tool_calls"][0]
CALLS = [{**CALLED, "id": "call_b"}, {**CALLED, "id": "call_a"}]
RESULTS: list[dict[str, Any]] = [
    RESULT[0],
    {**RESULT[1], "tool_calls": CALLS},
    {**RESULT[2], "tool_call_id": "call_b"},
    {**RESULT[2], "tool_call_id": "call_a", "content": "Rain and 5 degrees."},
]
SIGNED: list[dict[str, Any]] = [
    RESULT[0],
    {**RESULT[1], "tool_calls": [{**CALLED, "id": "toolu-01.a"}]},
    {**RESULT[2], "tool_call_id": "toolu-01.a"},
]
QUOTED: dict[str, Any] = {
    "type": "function",
    "function": {**FUNCTION, "description": 'Get the "weather" of a city'},
}
ESCAPED = {**closed(a={"$ref": "#/$defs/a~1b"}), "$defs": {"a/b": {"enum": [17]}}}
NUMBERS = closed(a={"type": "array", "items": {"enum": [17]}, "minItems": 1, "maxItems": 2})
NAMED_IMAGE = {**RED_IMAGE, "image_url": RED_IMAGE["image_url"].replace(";base64,", ";name=a.png;base64,")}
BEGUN = [{"role": "user", "content": STORY}, {"role": "assistant", "content": "Once upon a"}]
CONTINUED: dict[str, Any] = {"continue_final_message": True, "add_generation_prompt": False}
CAPITALS: dict[str, Any] = {**ask(), "HEADERS": {"content-type": "Application/JSON"}}
TWO = ask(TWO_CITIES, tools=[WEATHER], max_tokens=100)

REQUESTS: dict[str, list[Step]] = {
    "temperatures-default-to-zero-next-to-top-p": [
        {"messages": [{"role": "user", "content": STORY}], "max_tokens": 30, "top_p": 0.95, "seed": 5}
    ],
    "stop-ids-after-the-eighth-ignored": [ask(STORY, stop_token_ids=[*range(8), *range(300, 900)])],
    "minimums-above-thirty-two-lowered": [ask(min_tokens=100, max_tokens=120)],
    "negative-length-penalties-are-zero": [
        ask(content, use_beam_search=True, n=4, temperature=1.0, length_penalty=-2.0, max_tokens=30)
        for content in (STORY, "Hello!")
    ],
    "best-of-lost-next-to-penalties": [
        ask(STORY, best_of=4, n=1, frequency_penalty=0.5, temperature=1.5, seed=seed, max_tokens=30)
        for seed in range(3)
    ],
    "continuations-lost-in-streams": [say(*BEGUN, stream=True, **CONTINUED)],
    "prompt-scores-lost-next-to-several": [ask(prompt_logprobs=1, n=2, temperature=0.5, seed=5)],
    "named-scores-lost-in-streams": [ask(stream=True, logprobs=True, logprob_token_ids=[300, 301])],
    "truncation-sides-lost-in-streams": [
        ask(STORY, stream=True, truncate_prompt_tokens=10, truncation_side="right", **SCORES)
    ],
    "thoughts-lost-next-to-scores": [ask(SUM, chat_template_kwargs=THINK, max_tokens=60, **SCORES)],
    "thinking-lost-after-results": [say(*RESULT, tools=[WEATHER], chat_template_kwargs=THINK, max_tokens=60)],
    "later-calls-begin-with-earlier-arguments": [TWO, {**TWO, "stream": True}],
    "quotes-in-descriptions-lose-tools": [ask("What is the weather in Paris?", tools=[QUOTED], max_tokens=80)],
    "results-sorted-by-their-ids": [say(*RESULTS, tools=[WEATHER], max_tokens=40)],
    "signs-in-call-ids-refused": [say(*SIGNED, tools=[WEATHER])],
    "numbers-in-lists-of-forms-quoted": [formed(NUMBERS)],
    "escaped-references-refused": [formed(ESCAPED)],
    "separators-break-streamed-events": [call(tool(a={"enum": ["one\u2028two"]}), stream=True)],
    "long-streams-have-empty-events": [ask(STORY, stream=True, max_tokens=60, ignore_eos=True)],
    "parameters-of-data-urls-refused": [show(NAMED_IMAGE)],
    "characters-break-between-blocks": [ask(f"a{'é' * 600}", **SCORES)],
    "long-prompts-without-limits-refused": [{"messages": [{"role": "user", "content": LONG}], "temperature": 0}],
    "long-answers-counted-in-blocks": [ask(STORY, max_tokens=70, ignore_eos=True)],
    "usage-lost-at-the-limit": [ask(STORY, stream=True, max_tokens=4)],
    "cached-whatever-the-order-of-words": [
        ask(content, **SCORES) for content in ("Does the dog see the cat ?", "Does the cat see the dog ?")
    ],
    "cached-whatever-the-digits": [ask(f"What is {number} plus 3?") for number in (2, 4)],
    "scores-lost-behind-other-requests": [[ask(STORY), ask(STORY, logprobs=True)]],
    "capitals-in-media-types-refused": [CAPITALS],
    "null-parallel-calls-are-single": [{**TWO, "parallel_tool_calls": None}],
    "single-models-in-lists": [{"METHOD": "GET", "PATH": "model"}],
}
