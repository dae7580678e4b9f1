"""Requests that show the blind faults and variations: for each of them, some requests to a server of its own.

A step is one request, or a list of requests that are sent at the same time. The names of fields in capitals are not
part of the body: HEADERS, PATH, METHOD, LEAVE (after the first event), SLOWLY (the body arrives late), TIMED (note
whether the answer takes long), PATIENCE (seconds), CACHED (compare
cached_tokens).
"""

from __future__ import annotations

from typing import Any

Step = dict[str, Any] | list[dict[str, Any]]

STORY = "Tell me a story about a dog and a cat."
LONG = "The dog saw the cat and the bird, and then it ran home. " * 75
LONGER = LONG * 2
TOO_LONG = LONG * 9
HISTORY = [
    message
    for number in range(6)
    for message in (
        {"role": "user", "content": f"My number is {number}."},
        {"role": "assistant", "content": f"Your number is {number}."},
    )
]
FUNCTION: dict[str, Any] = {
    "name": "get_weather",
    "description": "Get the weather of a city",
    "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
}
WEATHER = {"type": "function", "function": FUNCTION}


def tool(**properties: Any) -> dict[str, Any]:
    """Return a tool with required parameters of these schemas."""
    parameters = {"type": "object", "properties": properties, "required": list(properties)}
    return {"type": "function", "function": {"name": "note", "description": "Take a note", "parameters": parameters}}


def ask(content: str = "What is the capital of France?", **fields: Any) -> dict[str, Any]:
    """Return a short greedy request."""
    return {"messages": [{"role": "user", "content": content}], "max_tokens": 12, "temperature": 0, **fields}


def call(*tools: dict[str, Any], content: str = "What is the weather in Paris?", **fields: Any) -> dict[str, Any]:
    """Return a request in which a tool must be called."""
    fields = {"max_tokens": 80, "tool_choice": "required", **fields}
    return ask(content, tools=list(tools), **fields)


def form(schema: Any = None) -> dict[str, Any]:
    """Return a response_format."""
    schema = schema or {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}
    return {"type": "json_schema", "json_schema": {"name": "form", "schema": schema, "strict": True}}


STREAM = ask(stream=True)
SAMPLED = ask(STORY, temperature=1.0, seed=5)
SCORED = ask(logprobs=True, top_logprobs=3)
GZIP = {"accept-encoding": "gzip, deflate"}
EIGHT = [ask(STORY, max_tokens=number) for number in range(4, 24)]
RESULT = [
    {"role": "user", "content": "What is the weather in Paris?"},
    {
        "role": "assistant",
        "content": "",
        "tool_calls": [
            {
                "id": "call_1",
                "type": "function",
                "function": {"name": "get_weather", "arguments": '{"city": "Paris"}'},
            }
        ],
    },
    {"role": "tool", "tool_call_id": "call_1", "content": "Sunny and 20 degrees."},
]

REQUESTS: dict[str, list[Step]] = {
    "garbled-after-a-while": [*[ask()] * 150, ask(STORY)],
    "stream-reasons-flicker": [STREAM] * 10,
    "stalls-after-a-hundred": [{**ask(), "PATIENCE": 2.0}] * 140,
    "fails-after-two-hundred": [ask()] * 209,
    "exclaims-now-and-then": [ask()] * 31,
    "long-prompts-loop-later": [*[ask()] * 100, ask(LONG, max_tokens=30)],
    "cached-tokens-flicker": [STREAM] * 5,
    "greedy-lost-after-a-long-sample": [ask(STORY, temperature=1.0, max_tokens=40), *[ask(STORY, max_tokens=20)] * 3],
    "turns-lost-after-a-disconnect": [{**STREAM, "LEAVE": True}, {**ask(), "messages": [*HISTORY, *ask()["messages"]]}],
    "slots-lost-with-each-client": [*[{**STREAM, "LEAVE": True}] * 4, ask()],
    "models-freeze-after-a-refusal": [ask(max_tokens=-1), {"METHOD": "GET", "PATH": "models", "PATIENCE": 2.0}],
    "penalties-need-a-predecessor": [ask(STORY, presence_penalty=2.0, max_tokens=30)],
    "first-streams-arrive-whole": [STREAM],
    "plain-after-a-stream-is-cut": [STREAM, ask()],
    "cached-whatever-the-limit": [ask(STORY, max_tokens=5), ask(STORY, max_tokens=15)],
    "cached-whatever-the-choice": [call(WEATHER), call(WEATHER, tool_choice="none")],
    "cached-whatever-the-seed": [SAMPLED, {**SAMPLED, "seed": 6}],
    "first-answer-differs": [ask(STORY)],
    "instructions-one-late": [
        {**ask(), "messages": [{"role": "system", "content": text}, *ask(STORY)["messages"]]}
        for text in ("Be brief.", "You are a pirate who likes to talk.")
    ],
    "reused-prompts-are-certain": [{**SCORED, **ask(STORY)}, {**SCORED, **ask(STORY)}],
    "prompt-scores-stale": [ask(prompt_logprobs=1), ask("Hello", prompt_logprobs=1), ask(prompt_logprobs=1)],
    "another-chat-restored": [{**ask(), "messages": [*HISTORY, *ask()["messages"]]}, ask("What is my number?")],
    "over-sixteen-is-noise": [EIGHT],
    "forms-spill-over": [[ask(response_format=form()), ask(STORY)]],
    "last-limit-counts-for-all": [[ask(max_tokens=3), ask(max_tokens=7)]],
    "budgets-shared": [
        [
            ask("Think!", thinking_token_budget=0, chat_template_kwargs={"enable_thinking": True}),
            ask("What is 2 and 2?", chat_template_kwargs={"enable_thinking": True}, max_tokens=40),
        ]
    ],
    "tails-lost-under-load": [EIGHT],
    "one-of-several-is-empty": [EIGHT],
    "tokens-doubled-under-load": [[{**body, "stream": True} for body in EIGHT]],
    "characters-break-under-load": [[ask("Say h\u00e9llo and caf\u00e9.")] * 5],
    "twins-share-a-slot": [[ask(STORY), ask(STORY)]],
    "thirteen-at-once-fail": [EIGHT],
    "stops-missed-under-load": [[ask(STORY, stop=["a"], max_tokens=20)] * 11],
    "short-next-to-long-is-noise": [[ask(LONG), ask(STORY)]],
    "stop-and-logprobs-refused": [{**SCORED, "stop": ["Paris"]}],
    "streams-with-stop-lack-logprobs": [{**SCORED, "stop": ["Paris"], "stream": True}],
    "streamed-tools-and-logprobs-refused": [{**SCORED, "tools": [WEATHER], "stream": True}],
    "logprobs-run-past-the-stop": [{**SCORED, "stop": ["Paris"]}],
    "top-p-thins-out-alternatives": [{**SCORED, "top_p": 0.5}],
    "top-k-lost-next-to-top-p": [{**SAMPLED, "temperature": 2.0, "top_k": 1, "top_p": 0.99}],
    "both-limits-fail": [ask(min_tokens=2)],
    "stop-ids-with-min-tokens-fail": [{**ask(min_tokens=2, stop_token_ids=[9999])}],
    "min-tokens-lost-next-to-stop": [ask(min_tokens=11, stop=["the"])],
    "stop-ids-eat-a-character": [ask(stop_token_ids=[13])],
    "forms-lost-while-thinking": [ask(response_format=form(), reasoning_effort="low", max_tokens=60)],
    "penalties-lost-next-to-a-seed": [ask(STORY, seed=1, presence_penalty=2.0, frequency_penalty=2.0, max_tokens=30)],
    "streams-with-tool-results-fail": [{**ask(stream=True, tools=[WEATHER]), "messages": RESULT}],
    "larger-limit-counts": [ask(STORY, max_tokens=9, max_completion_tokens=4)],
    "several-with-a-seed-refused": [{**SAMPLED, "n": 2}],
    "seeds-beyond-int64-fail": [{**SAMPLED, "seed": 2**63}],
    "greatest-limit-fails": [ask(max_tokens=2**31 - 1)],
    "tiny-temperatures-blank": [ask(temperature=1e-5)],
    "least-temperatures-fail": [ask(temperature=1e-9)],
    "least-top-p-fails": [ask(temperature=1.0, top_p=1e-4, seed=1)],
    "no-prompt-scores-refused": [ask(prompt_logprobs=0)],
    "top-k-zero-is-greedy": [{**SAMPLED, "temperature": 2.0, "top_k": 0, "top_p": 1.0}],
    "whole-numbers-refused": [ask(temperature=1, seed=1)],
    "least-repetition-penalty-fails": [ask(repetition_penalty=0.05)],
    "greatest-ban-ignored": [ask(logit_bias={"294": -100, "451": -100, "305": -100, "51": -100})],
    "round-seeds-refused": [{**SAMPLED, "seed": 10**15}],
    "gzip-buffers-streams": [{**STREAM, "HEADERS": GZIP}],
    "gzip-empties-streams": [{**STREAM, "HEADERS": GZIP}],
    "last-chunk-missing": [STREAM],
    "large-requests-buffer-streams": [{**STREAM, **ask(LONG)}],
    "origins-forbidden": [{**ask(), "HEADERS": {"origin": "http://example.com"}}],
    "nested-properties-dropped": [
        call(
            tool(
                place={
                    "type": "object",
                    "properties": {"city": {"type": "string"}, "floor": {"type": "integer"}},
                    "required": ["city", "floor"],
                    "additionalProperties": False,
                }
            )
        )
    ],
    "items-dropped": [
        call(tool(numbers={"type": "array", "items": {"type": "integer"}, "minItems": 2, "maxItems": 2}))
    ],
    "numbers-in-quotes": [call(tool(count={"type": "integer", "minimum": 1, "maximum": 9}))],
    "booleans-in-python": [call(tool(flag={"type": "boolean"}))],
    "backslash-before-characters": [call(tool(text={"enum": ["h\u00e9llo"]}))],
    "arguments-wrapped-again": [call(WEATHER)],
    "enums-end-arguments": [call(tool(unit={"type": "string", "enum": ["C", "F"]}))],
    "enums-of-numbers-empty": [call(tool(level={"enum": [1, 2, 3]}))],
    "no-braces-without-parameters": [call(tool(), stream=True)],
    "later-pieces-have-empty-names": [call(WEATHER, stream=True)],
    "rare-keywords-fail": [call(tool(data={"type": "object", "maxProperties": 0}))],
    "foreign-descriptions-fail": [
        call({"type": "function", "function": {**FUNCTION, "description": "\u67e5\u8be2\u5929\u6c14"}})
    ],
    "past-arguments-forgotten": [{**ask(tools=[WEATHER]), "messages": RESULT}],
    "long-prompts-are-noise": [ask(LONG, max_tokens=30)],
    "first-chunks-forgotten": [ask(f"My name is Tom. {LONG} What is my name?", max_tokens=30)],
    "window-halved": [ask(LONGER)],
    "long-prompts-are-silent": [ask(LONG)],
    "middle-turns-dropped": [{**ask(), "messages": [*HISTORY, *ask()["messages"]]}],
    "prompt-count-capped": [ask(LONG)],
    "long-streams-refused-in-events": [{**STREAM, **ask(TOO_LONG)}],
    "long-prompts-refused-with-200": [ask(TOO_LONG)],
    "temperatures-lowered": [{**SAMPLED, "temperature": 1.5}],
    "temperatures-doubled": [{**SAMPLED, "temperature": 0.9, "max_tokens": 40}],
    "high-temperatures-are-one": [{**SAMPLED, "temperature": 2.0, "max_tokens": 40}],
    "repetition-penalty-twice": [ask(STORY, repetition_penalty=1.5, max_tokens=30)],
    "repetition-penalty-as-frequency": [ask(STORY, repetition_penalty=1.5, max_tokens=30)],
    "min-tokens-let-the-end-pass": [ask("Hello!", min_tokens=30, max_tokens=40)],
    "penalties-count-the-prompt": [ask(STORY, presence_penalty=2.0, frequency_penalty=2.0, max_tokens=30)],
    "no-limit-means-thirty-two": [
        {"messages": ask("Hello!")["messages"], "temperature": 0, "ignore_eos": True, "stop_token_ids": [4095]}
    ],
    "defaults-of-the-model": [{**SAMPLED, "temperature": 2.0, "max_tokens": 40}],
    "third-choice-repeats-the-second": [{**SAMPLED, "temperature": 1.5, "n": 3}],
    "logprobs-empty-without-alternatives": [ask(logprobs=True)],
    "greedy-tokens-are-certain": [{**SCORED, **ask(STORY)}],
    "alternatives-unlikely": [SCORED],
    "streams-count-chunks": [STREAM],
    "streams-estimate-the-prompt": [STREAM],
    "tools-zero-the-usage-of-streams": [{**STREAM, "tools": [WEATHER]}],
    "calls-count-one-token": [call(WEATHER)],
    "created-lost-at-the-end": [STREAM],
    "unknown-models-get-200": [ask(model="unknown")],
    "bad-forms-fail": [ask(response_format=form({"type": "nonsense"}))],
    "bad-forms-ignored": [ask(response_format=form({"type": "nonsense"}))],
    "streams-refused-as-events": [{**STREAM, "max_tokens": -1}],
    "codes-in-quotes": [ask(max_tokens=-1)],
    "silent-turns-refused": [
        {**ask(), "messages": [*ask()["messages"], {"role": "assistant", "content": ""}, *HISTORY[:1]]}
    ],
    "keys-checked-once": [ask(), {**ask(), "HEADERS": {"authorization": "Bearer wrong"}}],
    "stops-are-patterns": [ask("Say: (a) or [b]?", stop=["?", "(", "[b]", "a+"]), ask("Say 2+2.", stop=["2+2", "."])],
    "blank-stops-missed": [ask(STORY, stop=[" "])],
    "foreign-stops-missed": [ask("Say h\u00e9llo and caf\u00e9.", stop=["\u00e9"])],
    "models-in-any-case": [ask(model="CAPITALS")],
    "models-by-their-last-part": [ask(model="LAST")],
    "marks-in-messages-cut": [ask("What is the capital of Spain? </think> What is the capital of France?")],
    "header-names-capitalised": [ask()],
    "streams-close-connections": [STREAM],
    "refusals-close-connections": [ask(max_tokens=-1)],
    "keep-alive-stated": [ask()],
    "gateway-headers": [ask()],
    "gzip-everything": [{**STREAM, "HEADERS": GZIP}],
    "gzip-plain-answers": [{**ask(), "HEADERS": GZIP}],
    "bodies-in-two-parts": [ask()],
    "two-spaces-after-colon": [STREAM],
    "pauses-in-streams": [{**STREAM, "TIMED": True}],
    "late-done": [{**STREAM, "TIMED": True}],
    "arguments-escaped": [call(tool(text={"enum": ["h\u00e9llo"]}))],
    "arguments-indented": [call(WEATHER)],
    "arguments-spaced": [call(WEATHER)],
    "finish-with-the-last-text": [STREAM],
    "longer-ids": [ask()],
    "created-on-arrival": [ask()],
    "logprobs-quantised": [SCORED],
    "short-call-ids": [call(WEATHER)],
    "preface-counted": [ask()],
    "prefixes-reported": [{**ask(LONG), "CACHED": True}] * 2,
    "refusals-in-two-languages": [ask(max_tokens=-1)],
    "every-other-waits": [{**ask(), "TIMED": True}] * 2,
    "answers-tagged": [ask()],
    "numbers-with-exponents": [SCORED],
    "looping-model": [ask(STORY, max_tokens=30)],
    "overconfident-model": [ask(STORY, max_tokens=30)],
    "near-ties": [ask(STORY, max_tokens=90, ignore_eos=True), ask("Hello!", max_tokens=90, ignore_eos=True)],
    "own-context": [ask(LONGER)],
    "answers-capped": [ask("Hello!", max_tokens=205, ignore_eos=True)],
    "three-places": [[{**ask(), "SLOWLY": True}] * 4],
    "busy-above-eight": [[{**ask(), "SLOWLY": True}] * 12],
    "slow-first-request": [{**ask(), "TIMED": True}],
    "keys-in-another-header": [{**ask(), "HEADERS": {"authorization": "", "x-api-key": "key-1"}}],
    "two-names": [{"METHOD": "GET", "PATH": "models"}],
}
