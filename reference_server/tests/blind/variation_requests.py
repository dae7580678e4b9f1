"""Requests that show the variations of the second set: some to a server of its own for each."""

from __future__ import annotations

from reference_server.tests.blind.steps import GZIP, LONG, SCORED, STORY, STREAM, WEATHER, Step, ask, call, tool

DEFLATE = {"accept-encoding": "deflate"}
MODELS: Step = {"METHOD": "GET", "PATH": "models"}
TALK = ask(STORY, max_tokens=40)
TALKS: list[Step] = [{**TALK, "temperature": 1.0, "seed": seed} for seed in (1, 2, 3)]

REQUESTS: dict[str, list[Step]] = {
    "rate-limits-stated": [ask()],
    "edge-headers": [ask()],
    "traced-requests": [ask()],
    "tenth-closes": [ask()] * 10,
    "pings-while-waiting": [STREAM],
    "padding-first": [STREAM],
    "unknown-event-fields": [STREAM],
    "uneven-speed": [{**ask(STORY, stream=True, max_tokens=40, ignore_eos=True), "TIMED": True}],
    "bodies-in-small-pieces": [ask(), ask(max_tokens=-1)],
    "refusals-take-time": [{**ask(max_tokens=-1), "TIMED": True}],
    "heads-early": [{**ask(), "TIMED": True}],
    "deflate-as-asked": [{**ask(), "HEADERS": DEFLATE}, {**ask(), "HEADERS": GZIP}],
    "not-found-with-detail": [{**ask(), "PATH": "unknown"}],
    "html-escaped": [call(tool(text={"enum": ["a<b & c>d"]})), call(tool(text={"enum": ["a<b"]}), stream=True)],
    "calls-numbered": [call(WEATHER), call(WEATHER, stream=True)],
    "timings-added": [ask()],
    "nulls-added": [ask()],
    "messages-annotated": [ask()],
    "usage-times": [ask()],
    "usage-of-the-cache": [ask()],
    "filters-reported": [ask()],
    "calls-with-empty-text": [call(WEATHER)],
    "scores-without-refusals": [SCORED],
    "arguments-sorted": [call(tool(zone={"type": "integer"}, area={"type": "integer"}))],
    "ids-as-uuid": [ask()],
    "zeros-negative": [SCORED],
    "logprobs-with-four-places": [SCORED],
    "logprobs-vary": [SCORED],
    "refusals-identified": [ask(max_tokens=-1)],
    "refusals-quote": [ask(max_tokens=-1)],
    "models-detailed": [MODELS],
    "arguments-by-character": [call(WEATHER, stream=True)],
    "words-at-once": [ask("Say h\u00e9llo and caf\u00e9.", stream=True, max_tokens=30)],
    "terse-model": TALKS,
    "talkative-model": [TALK],
    "polyglot-model": TALKS,
    "listing-model": [TALK],
    "asking-model": [TALK],
    "apologetic-model": [TALK],
    "blank-lines-model": [TALK],
    "context-of-512": [ask(LONG)],
    "thinks-by-default": [ask("What is 2 and 2?", max_tokens=40)],
    "default-instructions": [ask()],
    "calls-only-if-required": [ask("What is the weather in Paris?", tools=[WEATHER], max_tokens=80)],
    "calls-whenever-possible": [ask("Hello!", tools=[WEATHER], max_tokens=80)],
    "other-tokenizer": [ask()],
    "prefill-takes-time": [{**ask(LONG), "TIMED": True}],
}
