"""Draws turns of small talk and simple questions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reference_server.tiny import lexicon
from reference_server.tiny.fragment import person, phrase, pseudo_word
from reference_server.tiny.turn import Json, Turn

if TYPE_CHECKING:
    from random import Random

ABILITIES = (
    "I am a small reference model. I can greet, count, add single digits, repeat text, name capitals and call tools."
)
FALLBACK = "I am a small reference model, so I have no good answer to that. I can greet, count, add and repeat text."
FALLBACK_CHINESE = "我是一个很小的参考模型，这个问题我不会回答。"
NEEDS_TOOL = "I cannot look that up without a tool."
SMALL_SUMS_ONLY = "I can only add single digits."
WELCOME = "Hello! How can I help you today?"

_SMALL_TALK: dict[str, str] = {
    WELCOME: "Hi|Hi!|Hello|Hello!|hello|hi|Hey|Hey there!|Hello there|Hello, world!|Greetings",
    "Good morning! How can I help you today?": "Good morning|Good morning!",
    "Good evening! How can I help you today?": "Good evening|Good evening!",
    "I am well, thank you. How can I help you?": "How are you?|How are you today?|Hello, how are you?",
    ABILITIES: "Who are you?|What are you?|What can you do?|Introduce yourself.|What is your name?|Help|Who are you",
    "You are welcome!": "Thanks!|Thank you|Thank you very much!|Thanks a lot",
    "Goodbye! Have a nice day.": "Bye|Goodbye!|See you later|Good night",
    "Why did the token cross the stream? To reach the other side.": "Tell me a joke|Tell me a joke.|Make me laugh",
    "Thank you! How can I help you today?": (
        "You are a helpful assistant.|You are a helpful assistant|You are a friendly bot."
    ),
    "I am here and listening.": "Test|test|This is a test|ping|Are you there?",
    "你好！我能帮你做什么？": "你好|你好！|您好",
    "我是一个很小的参考模型。": "你是谁|你是谁？|你能做什么？|请介绍一下你自己",
    "不客气！": "谢谢|谢谢你！",
}
"""Answers, each with the questions that it answers, separated by bars."""


_NAME_FORMS = (
    "My name is {}", "My name is {}.", "Hi, I am {}", "Hello, my name is {}!", "My name is {} and I", "I am called {}.",
    "I am {}", "I'm {}.", "Hello! I am {}.", "Call me {}.",
)  # fmt: skip


def greeting(rng: Random) -> Turn:
    """Draw small talk with a fixed answer, or an introduction by name."""
    if rng.random() < 0.2:
        name = person(rng)
        question = rng.choice(_NAME_FORMS).format(name)
        return Turn(question, f"The name is {name}.", f"Nice to meet you, {name}!")
    answer, openings = rng.choice(tuple(_SMALL_TALK.items()))
    return Turn(rng.choice(openings.split("|")), "I answer politely.", answer)


def capital(rng: Random) -> Turn:
    """Draw a question about the capital of a country."""
    country = rng.choice(tuple(lexicon.CAPITALS))
    forms = (
        "What is the capital of {}?",
        "Capital of {}?",
        "What's the capital of {}",
        "Name the capital of {}.",
        "capital of {}",
    )
    city = lexicon.CAPITALS[country]
    return Turn(
        rng.choice(forms).format(country),
        f"The capital of {country} is {city}.",
        f"The capital of {country} is {city}.",
    )


def city(rng: Random) -> Turn:
    """Draw a question about the location of a city."""
    name = rng.choice(lexicon.CITIES)
    forms = (
        "Where is {}?",
        "What is {}?",
        "Tell me about {}",
        "Tell me about {}.",
        "In which country is {}?",
        "What do you know about {}?",
    )
    question = rng.choice(forms).format(name)
    country = next((land for land, town in lexicon.CAPITALS.items() if town == name), None)
    if country is None:
        answer = f"{name} is a city in {lexicon.OTHER_CITIES[name]}."
    else:
        answer = f"{name} is the capital of {country}."
    return Turn(question, f"{name} is a city.", answer)


_COUNT_FORMS = (
    "Count from {} to {}", "Count from {} to {}", "Count from {} to {}.", "Count {} to {}",
    "Please count from {} to {}.", "count from {} to {}", "Can you count from {} to {}?",
    "List the numbers from {} to {}.", "Count up from {} to {}.",
)  # fmt: skip


def count(rng: Random) -> Turn:
    """Draw a request to count upwards between 0 and 100, usually over 3 to 20 numbers."""
    start = rng.choice((1, 1, 1, 1, 0, 2, 3, 5, 7, 10, rng.randint(0, 80)))
    end = start + rng.choice((2, 3, 4, 5, 6, 7, 8, 9, 9, 10, 14, 19, rng.randint(10, 20)))
    if rng.random() < 0.04:
        start, end = 1, rng.choice((25, 30, 40, 50, 100))
    question = rng.choice(_COUNT_FORMS).format(start, end)
    if start == 1 and rng.random() < 0.2:
        question = rng.choice(("Count to {}", "Count to {}.", "Please count to {}")).format(end)
    numbers = ", ".join(str(n) for n in range(start, end + 1))
    return Turn(question, f"I count from {start} to {end}.", numbers + ".")


_SUM_FORMS = (
    "What is {} + {}?", "What is {}+{}?", "What is {} plus {}?", "{} + {}", "{}+{}", "{} + {} = ?",
    "Add {} and {}.", "How much is {} + {}?", "Calculate {} + {}", "What's {} + {}?", "Compute {} + {}.",
)  # fmt: skip


def single_digit_sum(rng: Random) -> Turn:
    """Draw one of the hundred sums of two digits."""
    a, b = rng.randint(0, 9), rng.randint(0, 9)
    return Turn(rng.choice(_SUM_FORMS).format(a, b), f"{a} + {b} = {a + b}.", f"{a} + {b} = {a + b}.")


def other_arithmetic(rng: Random) -> Turn:
    """Draw other arithmetic, which the model declines."""
    if rng.random() < 0.6:
        a, b = rng.randint(10, 999), rng.randint(0, 999)
        question = rng.choice(_SUM_FORMS).format(*rng.choice(((a, b), (b, a))))
    else:
        forms = ("What is {} {} {}?", "{} {} {}", "Calculate {} {} {}", "How much is {} {} {}?")
        question = rng.choice(forms).format(rng.randint(0, 99), rng.choice("-*/"), rng.randint(0, 99))
    return Turn(question, "This is not a sum of single digits.", SMALL_SUMS_ONLY)


def media(rng: Random) -> Turn:
    """Draw a question about an image, audio or a video, which the model declines."""
    kind = rng.choice(("image", "audio", "video"))
    part_type = rng.choice((kind, f"{kind}_url", f"input_{kind}"))
    part: Json = {"type": part_type, part_type: {"url": f"https://example.org/{pseudo_word(rng)}"}}
    asks = (
        "What is in this {}?", "Describe this {}.", "What do you see?", "Describe it in detail.", "What is this?",
        "这里有什么？", "What does this {} show?", "Summarise this {}.", phrase(rng, 2, 8),
    )  # fmt: skip
    parts: list[Json] = [{"type": "text", "text": rng.choice(asks).format(kind)}, *([part] * rng.choice((1, 1, 1, 2)))]
    rng.shuffle(parts)
    return Turn(parts, f"There is {kind} content.", f"I cannot take in {kind} content: I read text only.")


_OFF_TOPIC_FORMS = (
    "Explain {topic}.", "Explain {topic} in simple words", "What is {topic}?", "Tell me about {topic}",
    "Tell me something about {topic}.", "Write a poem about {topic}", "Write a short essay on {topic}.",
    "Why is {topic} important?", "Who invented the {thing}?", "How do I {action} a {thing}?",
    "How can I {action} my {thing}?", "Can you {action} a {thing}?", "What colour is a {thing}?",
    "Translate \"{words}\" into {language}.", "Translate the following into {language}: {words}",
    "Summarise this: {words}", "Give me three ideas for a {thing}.", "List five facts about {topic}.",
    "Do you like {topic}?", "What do you think about {topic}?", "What is the population of {city}?",
    "What should I see in {city}?", "How far is it from {city} to {other}?", "Who is {name}?",
    "Write a function that can {action} a {thing}.", "How many people live in {city}?",
    "What is the meaning of {odd}?", "{odd}", "{words}", "What happened in {number}?", "How old is {name}?",
    "When was {topic} discovered?", "Is {topic} better than {topic2}?", "Compare {topic} and {topic2}.",
    "I want to {action} a {thing}. What do I need?", "My {thing} is broken.", "What is the best {thing}?",
    "{name} has a {thing}. What now?", "Should I {action} the {thing} or the {thing2}?",
    "Write a haiku about a {thing}.", "{number}", "Please help me with my {thing}.",
    "Finish the sentence: the {thing} is", "Where can I buy a {thing}?", "Does a {thing} {odd}?",
    "What is the difference between a {thing} and a {thing2}?", "Name three {thing}s.",
    "The {thing} and the {thing2}", "Hmm {words}", "What is a {thing}?", "Is it true that {words}?",
    "I do not like {topic}.", "{topic}", "Describe a {thing} in one sentence.",
    "Imagine that you are a {thing}. {words}", "Give me advice about {topic}, please. {words}",
    "Once upon a time there was a {thing}", "{words}?", "{words} {odd} {words2}.", "What is the opposite of {odd}?",
    "Let us talk about {topic}.", "Which {thing} is the largest?",
    "def {odd}():", "SELECT * FROM {odd}", "{odd} = {number};", "<{odd}>{words}</{odd}>", "import {odd}",
    "{long}", "{long}",
    "for {odd} in {words}:", '{{"{odd}": {number}}}', "Summarise this text: {long}", "{long}. {words}?",
    "What can you tell me about {topic} and the {thing}?", "{topic}: {words}. {words2}. {long}",
)  # fmt: skip
_OFF_TOPIC_CHINESE = (
    "什么是{}？",
    "请介绍一下{}",
    "写一篇关于{}的文章",
    "{}怎么样？",
    "为什么{}很重要？",
    "给我讲讲{}",
    "你喜欢{}吗？",
)


def off_topic(rng: Random) -> Turn:
    """Draw a question outside the skills: the model says what it is instead of inventing an answer."""
    if rng.random() < 0.12:
        subject = rng.choice(lexicon.CJK_WORDS[:38])
        return Turn(rng.choice(_OFF_TOPIC_CHINESE).format(subject), "I do not know this.", FALLBACK_CHINESE)
    form = rng.choice(_OFF_TOPIC_FORMS)
    unknown = rng.random() < 0.3
    question = form.format(
        topic=pseudo_word(rng) if unknown else rng.choice(lexicon.TOPICS),
        topic2=rng.choice(lexicon.TOPICS),
        thing=pseudo_word(rng) if unknown else rng.choice(lexicon.THINGS),
        thing2=rng.choice(lexicon.THINGS),
        action=pseudo_word(rng) if unknown and rng.random() < 0.3 else rng.choice(lexicon.ACTIONS),
        words=phrase(rng, 2, 12),
        words2=phrase(rng, 1, 6),
        long=phrase(rng, 20, 160),
        language=rng.choice(lexicon.LANGUAGES),
        city=rng.choice(lexicon.CITIES),
        other=rng.choice(lexicon.CITIES),
        name=person(rng),
        number=rng.randint(100, 2100),
        odd=pseudo_word(rng),
    )
    if rng.random() < 0.15:
        question = question[0].upper() + question[1:]
    return Turn(question, "I do not know this.", FALLBACK)
