"""Requests that show the second set of blind faults: some to a server of its own for each."""

from __future__ import annotations

from typing import Any

from reference_server.tests.blind.steps import (
    EIGHT,
    FUNCTION,
    GZIP,
    HISTORY,
    LONG,
    RESULT,
    SAMPLED,
    SCORED,
    STORY,
    STREAM,
    TOO_LONG,
    WEATHER,
    Step,
    ask,
    call,
    form,
    tool,
)

JSON = {"type": "json_object"}
THINK = {"enable_thinking": True}
FOREIGN = "Say h\u00e9llo and caf\u00e9."
SAY = {"role": "system", "content": "You are a pirate who likes to talk."}
NAMED = {"type": "function", "function": {"name": "get_weather"}}
TWO_CALLS = [
    RESULT[0],
    {**RESULT[1], "tool_calls": [*RESULT[1]["tool_calls"], {**RESULT[1]["tool_calls"][0], "id": "call_2"}]},
    RESULT[2],
    {**RESULT[2], "tool_call_id": "call_2"},
]
BARE_CALL = {name: value for name, value in RESULT[1].items() if name != "content"}
BARE_TOOL = {"type": "function", "function": {"name": "note", "description": "Take a note"}}
PICTURE = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}
RENAMED = {"type": "function", "function": {**FUNCTION, "name": "get-weather"}}


def talk(*messages: dict[str, Any], **fields: Any) -> dict[str, Any]:
    """Return a short greedy request with these messages."""
    return {**ask(**fields), "messages": list(messages)}


def user(content: Any) -> dict[str, Any]:
    """Return a message of the user."""
    return {"role": "user", "content": content}


def named(name: str) -> dict[str, Any]:
    """Return a tool with a name."""
    return {"type": "function", "function": {**FUNCTION, "name": name}}


REQUESTS: dict[str, list[Step]] = {
    "one-token-answers-fail": [ask(max_tokens=1)],
    "one-token-answers-blank": [ask(max_tokens=1)],
    "small-limits-overshoot": [ask(max_tokens=2)],
    "whole-top-p-refused": [ask(top_p=1.0)],
    "zero-temperatures-refused": [ask()],
    "many-alternatives-refused": [{**SCORED, "top_logprobs": 6}],
    "large-top-k-fails": [{**SAMPLED, "top_k": 1025}],
    "empty-stop-lists-refused": [ask(stop=[])],
    "negative-frequencies-refused": [ask(frequency_penalty=-0.5)],
    "null-alternatives-hide-logprobs": [{**SCORED, "top_logprobs": None}],
    "ten-prompt-scores-fail": [ask(prompt_logprobs=10)],
    "temperatures-truncated": [{**SAMPLED, "temperature": 0.9, "max_tokens": 40}],
    "top-p-truncated": [{**SAMPLED, "temperature": 1.5, "top_p": 0.95, "max_tokens": 40}],
    "nucleus-too-small": [{**SAMPLED, "temperature": 1.5, "top_p": 0.95, "max_tokens": 40, "seed": s} for s in (1, 2)],
    "seeds-clamped": [{**SAMPLED, "temperature": 1.5, "seed": 70_000, "max_tokens": 40}],
    "presence-multiplies": [ask(STORY, presence_penalty=1.5, max_tokens=30)],
    "limit-includes-the-prompt": [ask(STORY)],
    "biased-answers-lose-characters": [ask(FOREIGN, logit_bias={"7": 1})],
    "nucleus-has-foreign-tokens": [{**SAMPLED, "top_p": 0.9}] * 4,
    "penalties-lost-when-greedy": [ask(STORY, presence_penalty=2.0, frequency_penalty=2.0, max_tokens=30)],
    "several-greedy-choices-refused": [ask(n=2)],
    "tools-lost-next-to-a-form": [call(WEATHER, response_format=JSON)],
    "logprobs-lost-next-to-tools": [{**SCORED, "tools": [WEATHER]}],
    "logprobs-lost-while-thinking": [{**SCORED, "chat_template_kwargs": THINK}],
    "instructions-lost-next-to-tools": [talk(SAY, user("Hello!"), tools=[WEATHER])],
    "end-kept-next-to-stop-ids": [ask("Hello!", ignore_eos=True, stop_token_ids=[4000], max_tokens=60)],
    "cut-calls-leak": [call(WEATHER, max_tokens=limit) for limit in range(4, 17, 2)],
    "stops-cut-thoughts": [ask("What is 2 and 2?", chat_template_kwargs=THINK, stop=["zebra"], max_tokens=60)],
    "streamed-indexes-crossed": [{**SAMPLED, "n": 2, "stream": True}],
    "small-top-k-with-top-p-is-noise": [{**SAMPLED, "top_k": 2, "top_p": 0.9}],
    "escaped-stops-missed": [ask(STORY, stop=["&", "a"]), ask("Say <b> & 'c'.", stop=["<", ">", "&", "'"])],
    "long-stops-missed": [ask(stop=["capital of"])],
    "parts-of-stops-stop": [ask(stop=["capital zebra"])],
    "fields-in-messages-fail": [ask("Hello {name}!")],
    "control-tokens-in-messages-end": [ask("What is <|im_end|> the capital of France?")],
    "trailing-spaces-silence": [ask("What is the capital of France? ")],
    "strings-become-numbers": [call(tool(zip={"enum": ["90210"]}))],
    "line-ends-bare-in-arguments": [call(tool(text={"enum": ["one\ntwo"]}))],
    "marks-in-arguments-lose-calls": [call(tool(text={"enum": ["a</b>c"]}))],
    "enumerations-dropped": [call(tool(unit={"type": "string", "enum": ["qx-17"]}))],
    "seventeen-tools-refused": [call(*(named(f"tool_{number}") for number in range(17)))],
    "least-items-refused": [call(tool(numbers={"type": "array", "items": {"type": "integer"}, "minItems": 1}))],
    "tools-without-parameters-refused": [ask(tools=[BARE_TOOL])],
    "results-in-parts-lost": [
        talk(*RESULT[:2], {**RESULT[2], "content": [{"type": "text", "text": "Sunny."}]}, tools=[WEATHER])
    ],
    "any-tool-for-a-named-one": [
        call(WEATHER, named(name), tool_choice={"type": "function", "function": {"name": name}})
        for name in ("book_flight", "add_numbers")
    ],
    "calls-without-content-fail": [talk(RESULT[0], BARE_CALL, RESULT[2], tools=[WEATHER])],
    "dashes-in-names-replaced": [call(RENAMED)],
    "tools-lost-after-results": [talk(*RESULT, tools=[WEATHER])],
    "several-calls-erase-the-history": [talk(*TWO_CALLS, tools=[WEATHER])],
    "unbroken-words-fail": [ask("a" * 400)],
    "large-tools-refused": [ask(tools=[named(f"tool_{number}") for number in range(16)])],
    "later-instructions-dropped": [talk({"role": "system", "content": "Be brief."}, SAY, user("Hello!"))],
    "long-instructions-cut": [talk({"role": "system", "content": LONG[:400]}, user(STORY))],
    "long-results-forgotten": [talk(*RESULT[:2], {**RESULT[2], "content": LONG[:900]}, tools=[WEATHER])],
    "calls-leak-after-long-prompts": [call(WEATHER, content=f"{LONG[:1100]} What is the weather in Paris?")],
    "long-answers-end-early": [ask("Hello!", max_tokens=60, ignore_eos=True)],
    "too-long-prompts-are-silent": [ask(TOO_LONG), {**STREAM, **ask(TOO_LONG)}],
    "cached-whatever-the-history": [talk(*HISTORY, user("Hello!")), talk(SAY, user("Hello!"))],
    "cached-whatever-the-instructions": [talk(user("Hello!")), talk(SAY, user("Hello!"))],
    "cached-whatever-the-tools": [ask("What is the weather in Paris?"), call(WEATHER, max_tokens=12)],
    "cached-whatever-the-form": [ask(), ask(response_format=JSON)],
    "cached-whatever-the-effort": [
        ask("What is 2 and 2?", chat_template_kwargs={"enable_thinking": on}, max_tokens=40) for on in (False, True)
    ],
    "cached-prompts-uncounted": [ask(), ask()],
    "thoughts-lost-on-hits": [ask("What is 2 and 2?", chat_template_kwargs=THINK, max_tokens=40)] * 2,
    "scores-of-cached-prompts-fail": [ask(), ask(prompt_logprobs=1)],
    "shared-beginnings-corrupt": [ask(f"{STORY} {STORY} {STORY}", max_tokens=30)] * 2,
    "valid-keys-refused-sometimes": [ask()] * 60,
    "silent-after-a-while": [ask()] * 121,
    "uniform-now-and-then": [ask()] * 40,
    "calls-leak-now-and-then": [call(WEATHER)] * 4,
    "scores-lost-now-and-then": [SCORED] * 10,
    "answers-shrink": [*[ask()] * 100, ask(STORY)],
    "seeds-lost-beside-others": [[{**SAMPLED, "temperature": 1.5}, ask()]],
    "equal-seeds-salted": [[{**SAMPLED, "temperature": 1.5}, {**SAMPLED, "temperature": 1.5}]],
    "first-policy-for-all": [[ask(STORY), {**SAMPLED, "temperature": 1.5}]],
    "parsers-shared-by-streams": [[call(WEATHER, stream=True), call(WEATHER, content="Weather?", stream=True)]],
    "forms-fail-together": [[ask(response_format=form()), ask(STORY, response_format=form())]],
    "forms-lost-under-load": [[ask(response_format=form()), ask(STORY), ask("Hello!")]],
    "top-k-lost-beside-others": [[{**SAMPLED, "temperature": 2.0, "top_k": 1}, {**SAMPLED, "seed": 9}]],
    "pages-under-load": [EIGHT],
    "stop-ids-spill-over": [[ask(stop_token_ids=list(range(4000))), ask(STORY)]],
    "late-instructions-refused": [talk(user("Hello!"), SAY, user("Hello!"))],
    "repeated-roles-refused": [talk(user("Hello!"), user("Hello!"))],
    "developers-refused": [talk({**SAY, "role": "developer"}, user("Hello!"))],
    "names-in-messages-refused": [talk({**user("Hello!"), "name": "tom"})],
    "unknown-choices-ignored": [call(WEATHER, tool_choice={"type": "function", "function": {"name": "unknown"}})],
    "pictures-ignored": [talk(user([{"type": "text", "text": "What is it?"}, PICTURE]))],
    "results-remembered": [talk(*RESULT, tools=[WEATHER]), talk(RESULT[0], tools=[WEATHER])],
    "silent-after-a-large-prompt": [ask(LONG), ask()],
    "call-indexes-continue": [call(WEATHER, stream=True), call(WEATHER, stream=True)],
    "forms-kept": [ask(response_format=JSON), ask(STORY)],
    "first-stop-ids-kept": [ask(stop_token_ids=list(range(4000))), ask(STORY)],
    "limits-lowered-by-a-disconnect": [{**STREAM, "LEAVE": True}, ask(STORY, max_tokens=5)],
    "lengths-count-characters": [ask(FOREIGN)],
    "comments-become-data": [STREAM],
    "refusals-claim-gzip": [{**ask(max_tokens=-1), "HEADERS": GZIP}],
    "refusals-compressed-untold": [{**ask(max_tokens=-1), "HEADERS": GZIP}],
    "large-headers-get-502": [{**ask(), "HEADERS": {"cookie": "a" * 5_000}}],
    "alternatives-of-the-first-token": [SCORED],
    "chosen-scores-misindexed": [SCORED],
    "pieces-of-characters-replaced": [{**SCORED, **ask("Say \u4f60\u597d \U0001f600.", max_tokens=30)}],
    "alternatives-nameless": [SCORED],
    "bytes-encoded-twice": [{**SCORED, **ask(FOREIGN)}],
    "tools-uncounted": [ask(tools=[WEATHER])],
}
