"""What a source states about a chat-completions interface, before it is compared with another dialect."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal

from openapi.contract.parameter import ABSENT
from openapi.importing.todo import Todo

if TYPE_CHECKING:
    from openapi.schema.json_schema import Schema


@dataclass(frozen=True, slots=True)
class StatedField:
    """What a source states about a parameter, or about a field or an element below it.

    path: such as `messages[].role`.
    keywords: those of a schema that the source states.
    required: whether the source says that the field is required.
    values: a schema of the values that the source states.
    """

    path: str
    keywords: frozenset[str]
    required: bool
    values: Schema


@dataclass(frozen=True, slots=True)
class StatedParameter:
    """One field of the request body.

    schema: of the values other than null.
    nullable: whether null is accepted; None if the source does not say.
    default: ABSENT if the source states no default, or describes it in words (`default_note`).
    place: where the source states it: a line, or a JSON pointer.
    summary: the source's own words, empty if it has none.
    silent: which of `schema`, `default`, `required` and `null` the source leaves to the extended dialect.
    fields: what the source states about the parameter itself and what is below it; None if it states the whole schema.
    """

    name: str
    schema: Schema
    required: bool
    nullable: bool | None
    default: Any = ABSENT
    default_note: str | None = None
    place: str = ""
    summary: str = ""
    silent: frozenset[str] = frozenset()
    fields: tuple[StatedField, ...] | None = None

    def states(self, fact: str) -> bool:
        """Return whether the source states `default`, `required` or a keyword of the schema."""
        if fact in ("default", "required"):
            return fact not in self.silent
        own = [field for field in self.fields or () if field.path == self.name]
        return "schema" not in self.silent and (self.fields is None or any(fact in field.keywords for field in own))


@dataclass(slots=True)
class AnswerChanges:
    """What a page states about answers and errors: values of the delta, sentences, and what is left to a person.

    changes: values by their paths in the tree. removed: paths that the dialect does not have.
    """

    changes: dict[str, Any] = field(default_factory=dict)
    removed: list[str] = field(default_factory=list)
    sentences: list[dict[str, Any]] = field(default_factory=list)
    todos: list[Todo] = field(default_factory=list)

    def set(self, path: str, value: Any) -> None:
        """Set the value at a path."""
        self.changes[path] = value

    def state(self, identity: str, says: str, source: str, home: dict[str, Any], keyword: str = "MUST") -> None:
        """Add a sentence of the page, in our own words."""
        name = re.sub(r"[^a-z0-9]+", "-", identity.lower()).strip("-")
        self.sentences.append({"id": name, "says": says, "source": source, "keyword": keyword, "home": home})


@dataclass(slots=True)
class StatedInterface:
    """A chat-completions interface; None stands for a part that the source does not state.

    schemas: the named schemas to which parameters and answers refer.
    answer, chunk: the schemas of a whole answer and of one event of a stream.
    errors: the HTTP statuses of errors, with the schema of the body.
    mentioned: parameters of which the source only describes fields or elements.
    unsupported: parameters that the source lists as not supported.
    prose: sentences that no rule reads and that do not seem to state a fact.
    answers: what a page states about answers and errors.
    """

    title: str
    version: str
    path: str | None = None
    models_path: str | None = None
    auth: Literal["none", "bearer"] | None = None
    parameters: dict[str, StatedParameter] = field(default_factory=dict)
    schemas: dict[str, Schema] = field(default_factory=dict)
    answer: Schema | None = None
    chunk: Schema | None = None
    errors: dict[str, Schema | None] = field(default_factory=dict)
    mentioned: set[str] = field(default_factory=set)
    unsupported: list[str] = field(default_factory=list)
    todos: list[Todo] = field(default_factory=list)
    prose: list[Todo] = field(default_factory=list)
    answers: AnswerChanges = field(default_factory=AnswerChanges)

    def leave_out_words(self) -> None:
        """Leave out the words of the source that are more than a fact: described defaults become to-dos."""
        for name, parameter in self.parameters.items():
            if parameter.default_note is not None:
                self.todos.append(Todo(name, parameter.place, "the default is described in words", quoted=False))
            self.parameters[name] = replace(
                parameter, default_note=None, summary="", schema=_without_phrases(parameter.schema)
            )
        self.schemas = {name: _without_phrases(schema) for name, schema in self.schemas.items()}


def _without_phrases(node: Any) -> Any:
    """Copy a schema without defaults of inner fields that are phrases or URLs, such as the text of an example."""
    if isinstance(node, list):
        return [_without_phrases(item) for item in node]
    if not isinstance(node, dict):
        return node
    return {
        key: _without_phrases(item)
        for key, item in node.items()
        if not (key == "default" and isinstance(item, str) and not re.fullmatch(r"[\w.-]*", item, re.ASCII))
    }
