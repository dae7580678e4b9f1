"""Requests that show the variations of the third set: some to a server of its own for each."""

from __future__ import annotations

from reference_server.tests.blind.steps import SCORED, STORY, STREAM, WEATHER, Step, ask, call, form

THINK = {"enable_thinking": True}
TALKS: list[Step] = [ask(STORY, max_tokens=40, temperature=1.0, seed=seed) for seed in (1, 2, 3)]
LONG_STREAM = ask(STORY, stream=True, max_tokens=50, ignore_eos=True)
SCHEMA = {"type": "object", "properties": {"a": {"enum": ["b"]}}, "required": ["a"], "additionalProperties": False}
FORMS: list[Step] = [
    ask("What is 2 and 2?", response_format=form(SCHEMA), max_tokens=60, temperature=1.0, seed=seed)
    for seed in (1, 2, 3)
]

REQUESTS: dict[str, list[Step]] = {
    "kong-headers": [ask()],
    "blank-lines-while-waiting": [ask()],
    "retry-advised": [ask(max_tokens=-1)],
    "refusals-repeat-the-status": [ask(max_tokens=-1)],
    "tokens-in-bursts": [LONG_STREAM, {**LONG_STREAM, "TIMED": True}],
    "escapes-in-capitals": [ask("Say h\u00e9llo and caf\u00e9.")],
    "sentences-at-once": [STREAM],
    "whole-calls-at-once": [call(WEATHER, stream=True)],
    "empty-arguments-first": [call(WEATHER, stream=True)],
    "calls-begin-without-arguments": [call(WEATHER, stream=True)],
    "role-alone-first": [STREAM],
    "empty-thoughts-first": [ask(stream=True, chat_template_kwargs=THINK)],
    "chunks-with-server-fields": [STREAM],
    "forms-end-with-white-space": FORMS,
    "forms-indented": FORMS,
    "line-feeds-beside-calls": [ask("What is the weather in Paris?", tools=[WEATHER], max_tokens=80)],
    "call-ids-as-uuid": [call(WEATHER)],
    "scores-with-ids": [SCORED],
    "matched-stop-told": [ask()],
    "emoji-model": TALKS,
    "code-model": TALKS,
    "json-model": TALKS,
    "counting-model": TALKS,
    "ties-under-load": [[ask(STORY, max_tokens=number, ignore_eos=True) for number in range(150, 90, -4)]],
}
