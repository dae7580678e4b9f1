"""The request of MindIE 2.3 as a server usually states it: by hand, as strict pydantic models.

Written to be measured beside the contract, and to show what such models leave out: the limits over several members,
rules between parameters other than the one below, and where each of them comes from.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

Text = Annotated[str, Field(min_length=1)]
Penalty = Annotated[float, Field(ge=-2, le=2)]


class Strict(BaseModel):
    """Nothing is coerced; unknown members pass, as in the contract."""

    model_config = ConfigDict(strict=True, extra="ignore")


class TextPart(Strict):
    """A text."""

    type: Literal["text"]
    text: Text


class ImagePart(Strict):
    """An image."""

    type: Literal["image_url"]
    image_url: str


class VideoPart(Strict):
    """A video."""

    type: Literal["video_url"]
    video_url: str


class AudioPart(Strict):
    """A sound."""

    type: Literal["audio_url"]
    audio_url: str


Part = Annotated[TextPart | ImagePart | VideoPart | AudioPart, Field(discriminator="type")]
Content = Text | Annotated[list[Part], Field(min_length=1)]


class CallFunction(Strict):
    """What is called, and with what."""

    name: str
    arguments: str


class Call(Strict):
    """One call of a function."""

    id: str
    type: Literal["function"]
    function: CallFunction


class SystemMessage(Strict):
    """Instructions."""

    role: Literal["system"]
    content: Content


class UserMessage(Strict):
    """What the user says."""

    role: Literal["user"]
    content: Content


class AssistantMessage(Strict):
    """What the model said."""

    role: Literal["assistant"]
    content: Content | Literal[""] | None = None
    tool_calls: list[Call] | None = None

    @model_validator(mode="after")
    def speaks(self) -> Self:
        """Content or calls."""
        if not self.content and not self.tool_calls:
            raise ValueError("an assistant message needs content or tool calls")
        return self


class ToolMessage(Strict):
    """What a tool returned."""

    role: Literal["tool"]
    content: Content
    tool_call_id: str


Message = Annotated[SystemMessage | UserMessage | AssistantMessage | ToolMessage, Field(discriminator="role")]


class Function(Strict):
    """A declared function."""

    name: str
    strict: bool = False
    description: str | None = None
    parameters: dict[str, Any] | None = None


class Tool(Strict):
    """A declared tool."""

    type: Literal["function"]
    function: Function


class Name(Strict):
    """A name alone."""

    name: str


class NamedChoice(Strict):
    """One function that must be called."""

    type: Literal["function"]
    function: Name


class Request(Strict):
    """The body of a chat request."""

    model: Text
    messages: Annotated[list[Message], Field(min_length=1)]
    stream: bool | None = False
    presence_penalty: Penalty | None = 0.0
    frequency_penalty: Penalty | None = 0.0
    repetition_penalty: Annotated[float, Field(gt=0, le=2)] | None = 1.0
    temperature: Annotated[float, Field(ge=0, le=2)] | None = 1.0
    top_p: Annotated[float, Field(gt=1e-6, le=1)] | None = 1.0
    top_k: Annotated[int, Field(ge=0, le=2**31 - 1)] | None = None
    seed: Annotated[int, Field(ge=0, le=2**64 - 1)] | None = None
    stop: (
        Annotated[str, Field(min_length=1, max_length=1024)]
        | Annotated[list[Annotated[str, Field(min_length=1, max_length=1024)]], Field(max_length=1024)]
        | None
    ) = None
    stop_token_ids: list[int] | None = None
    include_stop_str_in_output: bool | None = False
    skip_special_tokens: bool | None = True
    ignore_eos: bool | None = False
    max_tokens: Annotated[int, Field(gt=0, le=2**31 - 1)] | None = None
    tools: list[Tool] | None = None
    tool_choice: Literal["none", "auto", "required"] | NamedChoice | None = "auto"
    use_beam_search: bool | None = False
    best_of: Annotated[int, Field(ge=1, le=128)] | None = 1
    n: Annotated[int, Field(ge=1, le=128)] | None = 1
    logprobs: bool | None = False
    top_logprobs: Annotated[int, Field(ge=0, le=20)] | None = 0
    chat_template_kwargs: dict[str, Any] | None = None

    @model_validator(mode="after")
    def samples(self) -> Self:
        """Several choices need a temperature."""
        if (self.n or 1) > 1 and self.temperature == 0:
            raise ValueError("n greater than 1 needs a temperature greater than 0")
        return self
