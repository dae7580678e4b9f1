"""Requests that show the third set of blind faults: some to a server of its own for each."""

from __future__ import annotations

from typing import Any

from reference_server.tests.blind.steps import (
    EIGHT,
    FUNCTION,
    HISTORY,
    LONG,
    RESULT,
    SAMPLED,
    SCORED,
    STORY,
    STREAM,
    WEATHER,
    Step,
    ask,
    call,
    form,
    tool,
)

THINK = {"enable_thinking": True}
FOREIGN = "Say h\u00e9llo and caf\u00e9."
ASK = "What is the weather in Paris?"
SUM = "What is 2 and 2?"
USAGE = {"include_usage": True}
OTHER = {"type": "object", "properties": {"b": {"type": "boolean"}}, "required": ["b"]}
BARE: dict[str, Any] = {"type": "object", "properties": {}, "required": []}
LONG_NAME = "get_the_weather_of_a_city_and_of_the_country_around_it"
PARTS = [{"type": "text", "text": "What is the capital of France?"}]


def talk(*messages: dict[str, Any], **fields: Any) -> dict[str, Any]:
    """Return a short greedy request with these messages."""
    return {**ask(**fields), "messages": list(messages)}


def user(content: Any) -> dict[str, Any]:
    """Return a message of the user."""
    return {"role": "user", "content": content}


def called(message: dict[str, Any] | None = None, **function: Any) -> dict[str, Any]:
    """Return a request after a tool call with other fields in its message and its function."""
    own = RESULT[1]["tool_calls"][0]
    calls = [{**own, "function": {**own["function"], **function}}]
    return talk(RESULT[0], {**RESULT[1], "tool_calls": calls, **(message or {})}, RESULT[2], tools=[WEATHER])


REQUESTS: dict[str, list[Step]] = {
    "ids-repeat-after-fifty": [{**ask(), "IDS": True}] * 51,
    "greedy-wavers-later": [ask(STORY, max_tokens=20)] * 50,
    "arguments-lost-now-and-then": [call(WEATHER, stream=True)] * 3,
    "streams-miscounted-now-and-then": [STREAM] * 5,
    "past-calls-fail-now-and-then": [called()] * 6,
    "heads-in-bodies": [STREAM] * 2,
    "rest-of-an-abandoned-stream": [{**STREAM, "LEAVE": True}, ask()],
    "abandoned-prompts-corrupt": [{**ask(STORY, stream=True), "LEAVE": True}, ask(STORY, max_tokens=30)],
    "hits-keep-ids": [{**ask(), "IDS": True}] * 2,
    "cached-whatever-the-stop": [ask(stop=["capital"]), ask()],
    "cached-whatever-the-scores": [ask(), SCORED],
    "cached-whatever-the-number": [{**SAMPLED, "n": 2}, SAMPLED],
    "cached-whatever-the-penalties": [
        ask(STORY, max_tokens=30),
        ask(STORY, max_tokens=30, presence_penalty=2.0, frequency_penalty=2.0),
    ],
    "first-schema-for-all": [ask(response_format=form()), ask(response_format=form(OTHER))],
    "greedy-lost-beside-samples": [[ask(STORY, max_tokens=40), SAMPLED]],
    "penalties-grow-beside-others": [[ask(STORY, presence_penalty=0.3, max_tokens=40), ask(LONG)]],
    "preempted-answers-start-over": [[{**body, "stream": True} for body in EIGHT]],
    "streams-crossed": [[ask(text, stream=True, max_tokens=60, ignore_eos=True) for text in (STORY, "Hello!")]],
    "scores-fail-beside-others": [[SCORED, ask()]],
    "samples-fail-beside-greedy": [[ask(STORY), SAMPLED]],
    "cut-thoughts-leak": [ask(SUM, chat_template_kwargs=THINK, max_tokens=8)],
    "thoughts-leak-next-to-tools": [ask(ASK, tools=[WEATHER], chat_template_kwargs=THINK, max_tokens=100)],
    "thoughts-beyond-budgets-leak": [ask(SUM, chat_template_kwargs=THINK, thinking_token_budget=4, max_tokens=60)],
    "calls-lost-while-thinking": [ask(ASK, tools=[WEATHER], chat_template_kwargs=THINK, max_tokens=100)],
    "thoughts-leak-into-streamed-forms": [
        ask(SUM, stream=True, chat_template_kwargs=THINK, response_format=form(), max_tokens=80)
    ],
    "answers-become-thoughts-when-off": [ask(stream=True, chat_template_kwargs={"enable_thinking": False})],
    "several-with-a-seed-alike": [{**SAMPLED, "temperature": 1.5, "n": 3}],
    "ends-at-the-limit-exposed": [ask(max_tokens=limit) for limit in range(4, 13)],
    "lengths-lost-next-to-patterns": [call(tool(text={"type": "string", "pattern": "^[a-z]+$", "minLength": 15}))],
    "streamed-usage-breaks-frames": [ask(stream=True, stream_options=USAGE)],
    "usage-once-per-choice": [{**SAMPLED, "n": 2, "stream": True, "stream_options": USAGE}],
    "greedy-with-top-p-samples": [ask(STORY, top_p=0.9, max_tokens=40)],
    "high-repetition-penalties-refused": [ask(repetition_penalty=2.5)],
    "large-lengths-refused": [call(tool(text={"type": "string", "maxLength": 5_000}))],
    "null-limits-fail-in-streams": [ask(stream=True, max_tokens=None)],
    "done-prefixed-twice": [STREAM],
    "refused-codings-used": [{**ask(), "HEADERS": {"accept-encoding": "gzip;q=0, identity"}}],
    "surrogates-in-two-chunks": [ask("Say \u4f60\u597d \U0001f600.", stream=True, max_tokens=30)],
    "streams-encoded-twice": [ask(FOREIGN, stream=True)],
    "characters-lost-at-borders": [ask(FOREIGN, stream=True)],
    "long-call-ids-fail": [called()],
    "empty-past-arguments-fail": [called(arguments="")],
    "null-contents-drop-calls": [called({"content": None})],
    "results-without-names-refused": [called()],
    "users-after-results-refused": [talk(*RESULT, user("Thanks!"), tools=[WEATHER])],
    "unanchored-patterns-refused": [call(tool(text={"type": "string", "pattern": "[a-z]"}))],
    "arguments-encoded-twice": [call(WEATHER)],
    "null-without-parameters": [call({"type": "function", "function": {**FUNCTION, "parameters": BARE}})],
    "first-braces-lost-in-streams": [call(WEATHER, stream=True)],
    "later-calls-lack-ids": [
        ask("What is the weather in Paris and in Rome?", tools=[WEATHER], stream=True, max_tokens=100)
    ],
    "long-names-rewritten": [call({"type": "function", "function": {**FUNCTION, "name": LONG_NAME}})],
    "many-turns-refused": [talk(*HISTORY, *HISTORY, *HISTORY, user("Hello!"))],
    "large-bodies-get-413": [ask(LONG * 3)],
    "late-text-is-noise": [ask(STORY, max_tokens=80, ignore_eos=True)],
    "ignored-ends-appear": [ask("Hello!", ignore_eos=True, max_tokens=60)],
    "rewards-ignored": [ask(STORY, repetition_penalty=0.3, max_tokens=30, ignore_eos=True)],
    "min-tokens-lost-next-to-stop-ids": [ask("Hello!", min_tokens=30, stop_token_ids=[4_000], max_tokens=40)],
    "usage-chunk-twice": [ask(stream=True, stream_options=USAGE)],
    "usage-chunk-lacks-choices": [ask(stream=True, stream_options=USAGE)],
    "cached-tokens-subtracted": [ask(f"{LONG} {text}", max_tokens=4) for text in ("Who?", "What?", "Where?")],
    "alternatives-lose-blanks": [SCORED],
    "likeliest-token-shown": [{**SAMPLED, "temperature": 2.0, "logprobs": True, "top_logprobs": 2}],
    "indexes-count-chunks": [STREAM],
    "earlier-turns-uncounted": [talk(*HISTORY, user("Hello!"))],
    "instructions-in-parts-fail": [talk({"role": "system", "content": PARTS}, user("Hello!"))],
    "no-user-message-fails": [talk({"role": "system", "content": "Say hello."})],
    "last-assistant-refused": [talk(*HISTORY)],
    "empty-call-lists-refused": [
        talk(user("Hello!"), {"role": "assistant", "content": "Hi.", "tool_calls": []}, user("Hello!"))
    ],
    "calls-without-thoughts-refused": [{**called(), "chat_template_kwargs": THINK}],
    "stops-leave-all-but-the-last": [ask(stop=["France"])],
    "stops-within-words-missed": [ask(stop=["Pari"])],
    "stops-across-tokens-missed-in-streams": [ask(stream=True, stop=["capital of"])],
    "messages-escaped-for-html": [ask("Say <b> & 'c'.")],
    "parts-read-as-python": [talk(user(PARTS))],
}
