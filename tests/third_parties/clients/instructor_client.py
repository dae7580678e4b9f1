"""Cases of instructor: typed answers by tools and by schemas."""

from __future__ import annotations

import cases
import instructor
import openai
from pydantic import BaseModel

plain_client = openai.OpenAI(base_url=cases.BASE_URL, api_key=cases.API_KEY, max_retries=0)


class Number(BaseModel):
    """A number."""

    n: int


def ask(mode, **options):
    """Ask for a number in one of instructor's modes."""
    client = instructor.from_openai(plain_client, mode=mode)
    return client.chat.completions.create(
        model=cases.MODEL, messages=[{"role": "user", "content": cases.COUNT}], response_model=Number,
        max_tokens=200, max_retries=1, **options,
    )  # fmt: skip


def by_tool():
    """By a tool with tool_choice."""
    assert isinstance(ask(instructor.Mode.TOOLS), Number)


def by_schema():
    """By response_format with a schema."""
    assert isinstance(ask(instructor.Mode.JSON_SCHEMA), Number)


cases.run(by_tool, by_schema)
