"""The request of MindIE 2.3 as hand-written strict pydantic models, as many servers define it.

The benchmark compares these models with the contract. They omit the limits over several fields, all rules between
parameters except one, and the sources.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

Text = Annotated[str, Field(min_length=1)]
Penalty = Annotated[float, Field(ge=-2, le=2)]


class Strict(BaseModel):
    """A model without type coercion that ignores unknown fields, like the contract."""

    model_config = ConfigDict(strict=True, extra="ignore")


class TextPart(Strict):
    """A text part."""

    type: Literal["text"]
    text: Text


class ImagePart(Strict):
    """An image part."""

    type: Literal["image_url"]
    image_url: str


class VideoPart(Strict):
    """A video part."""

    type: Literal["video_url"]
    video_url: str


class AudioPart(Strict):
    """An audio part."""

    type: Literal["audio_url"]
    audio_url: str


Part = Annotated[TextPart | ImagePart | VideoPart | AudioPart, Field(discriminator="type")]
Content = Text | Annotated[list[Part], Field(min_length=1)]


class CallFunction(Strict):
    """The name and arguments of a call."""

    name: str
    arguments: str


class PydanticCall(Strict):
    """One tool call."""

    id: str
    type: Literal["function"]
    function: CallFunction


class SystemMessage(Strict):
    """A system message."""

    role: Literal["system"]
    content: Content


class UserMessage(Strict):
    """A user message."""

    role: Literal["user"]
    content: Content


class AssistantMessage(Strict):
    """An assistant message."""

    role: Literal["assistant"]
    content: Content | Literal[""] | None = None
    tool_calls: list[PydanticCall] | None = None

    @model_validator(mode="after")
    def require_content(self) -> Self:
        """Require content or tool calls."""
        if not self.content and not self.tool_calls:
            raise ValueError("an assistant message needs content or tool calls")
        return self


class ToolMessage(Strict):
    """The result of a tool call."""

    role: Literal["tool"]
    content: Content
    tool_call_id: str


Message = Annotated[SystemMessage | UserMessage | AssistantMessage | ToolMessage, Field(discriminator="role")]


class Function(Strict):
    """The definition of a function."""

    name: str
    strict: bool = False
    description: str | None = None
    parameters: dict[str, Any] | None = None


class PydanticTool(Strict):
    """The definition of a tool."""

    type: Literal["function"]
    function: Function


class Name(Strict):
    """A function name."""

    name: str


class NamedChoice(Strict):
    """A tool_choice that names a function."""

    type: Literal["function"]
    function: Name


class PydanticRequest(Strict):
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
    tools: list[PydanticTool] | None = None
    tool_choice: Literal["none", "auto", "required"] | NamedChoice | None = "auto"
    use_beam_search: bool | None = False
    best_of: Annotated[int, Field(ge=1, le=128)] | None = 1
    n: Annotated[int, Field(ge=1, le=128)] | None = 1
    logprobs: bool | None = False
    top_logprobs: Annotated[int, Field(ge=0, le=20)] | None = 0
    chat_template_kwargs: dict[str, Any] | None = None

    @model_validator(mode="after")
    def require_temperature(self) -> Self:
        """Require a temperature above 0 for several choices."""
        if (self.n or 1) > 1 and self.temperature == 0:
            raise ValueError("n greater than 1 needs a temperature greater than 0")
        return self
