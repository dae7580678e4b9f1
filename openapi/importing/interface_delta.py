"""Write a stated interface as the delta of a dialect on the dialect that it extends."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

import jsonschema_rs

from openapi.contract.parameter import ABSENT
from openapi.contract.resolution import SILENT_NULL
from openapi.contract.tree.delta import identify_item
from openapi.contract.tree.inheritance import make_absolute
from openapi.contract.tree.probe_value import expand_value
from openapi.importing.request_fields import has_field, list_request_steps
from openapi.importing.schemas.canonical_schema import same_values
from openapi.importing.schemas.schema_placement import SchemaPlacement
from openapi.importing.sentences import parameter_sentences
from openapi.importing.server_bounds import with_numeric_limit, with_server_limits
from openapi.importing.stated_places import StatedPlaces
from openapi.importing.todo import Todo
from openapi.reading.compare.delta_placement import DeltaTree
from openapi.schema.json_schema import reachable
from openapi.schema.server_limits import SERVER_LIMITS

if TYPE_CHECKING:
    from openapi.importing.interface import StatedInterface, StatedParameter
    from openapi.schema.json_schema import Schema

Tree = dict[str, Any]
ROOTS: Final = (("answer", "ChatCompletion", "response"), ("chunk", "ChatCompletionChunk", "stream"))
MODEL: Final = "model"
UNIONS: Final = frozenset({"enum", "anyOf", "oneOf"})
STATED, BY_ANALOGY = "MUST", "SHOULD"
"""The level of a fact that the document of a dialect states, and of one that only another document states."""
SINGLE: Final = frozenset(
    {"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "minLength", "maxLength", "minItems", "maxItems"}
    | {"enum", "pattern", SERVER_LIMITS}
)
"""Keywords of which each is a fact on its own."""
OTHERS_WORDS: Final = ("levels", "interpretation", "ground", "default_as")
"""What the extended dialect says about its own document's statement on a parameter."""


class InterfaceDelta:
    """The delta of an interface on one dialect, and what a person has to decide."""

    def __init__(self, interface: StatedInterface, dialect: str) -> None:
        self.tree = DeltaTree(dialect)
        self.todos = list(interface.todos)
        self._interface = interface
        inherited = self.tree.get("schemas")
        unstated = [
            {"$ref": f"#/components/schemas/{name}"} for key, name, _ in ROOTS if getattr(interface, key) is None
        ]
        self._placement = SchemaPlacement(self.tree, interface.schemas, inherited, reachable(unstated, inherited))
        self._set_endpoint()
        interface.parameters.update(
            {name: self._with_any_model(item) for name, item in interface.parameters.items() if name == MODEL}
        )
        parameters = [self._with_valid_default(parameter) for parameter in interface.parameters.values()]
        for parameter in parameters:
            known = self.tree.get(f"parameters/{parameter.name}")
            self._change(parameter, known) if known is not None else self._add(parameter)
        for key, name, part in ROOTS:
            stated = getattr(interface, key)
            if stated is not None:
                self._placement.place(stated, {"$ref": f"#/components/schemas/{name}"}, f"#{part}")
        self._fit_answers()
        if interface.unsupported:
            self.tree.set("unsupported", interface.unsupported)
        self._remove_others()
        self._list_statuses()
        for path, value in interface.answers.changes.items():
            self.tree.set(path, value)
        for path in interface.answers.removed:
            self._remove(path)
        self.sentences = [*self._state(parameters), *interface.answers.sentences]

    def _state(self, parameters: list[StatedParameter]) -> list[Tree]:
        """Return the sentences of the source, and mark what the delta only repeats of the extended dialect."""
        schemas = {name: self.tree.current(f"schemas/{name}") for name in self._list_schemas()}
        final = {item.name: self.tree.current(f"parameters/{item.name}/schema") for item in parameters}
        places = StatedPlaces(final, schemas, self.tree.remove)
        sentences: dict[str, Tree] = {}
        for parameter in parameters:
            for row in parameter_sentences(parameter, self._interface.schemas, places):
                sentences.setdefault(row["id"], row)
        homes = [row["home"]["schema"] for row in sentences.values()]
        stated = {place for home in homes for place in ([home] if isinstance(home, str) else home)}
        if any(parameter.fields is not None for parameter in parameters):
            self._mark_repeated(places, stated)
        return list(sentences.values())

    def _mark_repeated(self, places: StatedPlaces, stated: set[str]) -> None:
        """Let each schema of the extended dialect that is written again, and not stated wholly, cite its document."""
        parent = {key: self.tree.get(key) for key in ("documents", "document")}
        for path, value in list(self.tree.replace.items()):
            part, name, *inside = path.split("/")
            user = places.find_user(name) if part == "schemas" else name if inside[:1] == ["schema"] else None
            if isinstance(value, dict) and user is not None and not places.list_limits(path) <= stated:
                known = (self.tree.get(path) or {}).get("x-source") or f"#request/{user}"
                value["x-source"] = make_absolute(str(known), parent)

    def _list_schemas(self) -> list[str]:
        changed = (path.split("/")[1] for path in {**self.tree.add, **self.tree.replace} if path.startswith("schemas/"))
        return list(dict.fromkeys([*self.tree.get("schemas"), *changed]))

    def _set_endpoint(self) -> None:
        stated = self._interface
        for key, value in (("path", stated.path), ("models_path", stated.models_path)):
            if value is not None and self.tree.get(f"endpoint/{key}") != value:
                self.tree.set(f"endpoint/{key}", value)
        if stated.path is not None:
            self.tree.set("endpoint/source", "#endpoint/url")
        if stated.auth is not None:
            self.tree.set("auth", {"scheme": stated.auth, "source": "#auth"})

    def _with_any_model(self, parameter: StatedParameter) -> StatedParameter:
        """Return the parameter that names the model without a list of models: which are served changes by the day."""
        if not UNIONS & set(parameter.schema):
            return parameter
        self.todos.append(Todo(parameter.name, parameter.place, "the list of models is left out", quoted=False))
        fields = parameter.fields and tuple(
            replace(field, keywords=field.keywords - UNIONS, values={"type": "string"}) for field in parameter.fields
        )
        return replace(parameter, schema={"type": "string"}, default=ABSENT, fields=fields)

    def _with_valid_default(self, parameter: StatedParameter) -> StatedParameter:
        default = parameter.default
        if default is ABSENT or self._is_valid(default, parameter):
            return parameter
        text = f"the default {default!r} is not a valid value"
        self.todos.append(Todo(parameter.name, parameter.place, text, quoted=False))
        return replace(parameter, default=ABSENT)

    def _change(self, parameter: StatedParameter, known: Tree) -> None:
        """State a parameter that the extended dialect has, with the source's own facts."""
        at = f"parameters/{parameter.name}"
        if known["source"] != f"#request/{parameter.name}":
            self.tree.set(f"{at}/source", f"#request/{parameter.name}")
        if "schema" not in parameter.silent and not same_values(
            parameter.schema, self._interface.schemas, known["schema"], self.tree.get("schemas")
        ):
            limit = with_numeric_limit if parameter.fields is None else with_server_limits
            placed = self._placement.place(parameter.schema, known["schema"], f"#request/{parameter.name}")
            self._set_schema(f"{at}/schema", limit(placed, known["schema"]), known["schema"])
        null = _null_value(parameter.nullable)
        if (
            "null" not in parameter.silent
            and {key: value for key, value in known["null_value"].items() if key != "source"} != null
        ):
            self.tree.set(f"{at}/null_value", null)
        if "required" not in parameter.silent and bool(known.get("required")) != parameter.required:
            self.tree.set(f"{at}/required", parameter.required)
        if "default" not in parameter.silent:
            self._set_default(parameter, known, at)
        elif "default" in known and not self._may_inherit(known["default"], parameter):
            self._remove(f"{at}/default")  # of the extended dialect, and no value of this one
        if "schema" not in parameter.silent:
            self._follow_schema(parameter, known, at)
        self._cite_parent(parameter, known, at)
        for other, value in known.get("needs", {}).items():
            if not self._may_accept(other, value):
                self._remove(f"{at}/needs/{other}")

    def _cite_parent(self, parameter: StatedParameter, known: Tree, at: str) -> None:
        """Let null, if the source does not state it, cite the document of the extended dialect: it is by analogy.

        The loader does the same for limits and defaults that no sentence states.
        """
        null = known["null_value"]
        if _leaves_out_null(parameter) and null["expect"] == "accept":
            self.tree.set(f"{at}/null_value", dict(SILENT_NULL))
        elif "null" in parameter.silent and "source" not in null:
            parent = {key: self.tree.get(key) for key in ("documents", "document")}
            level = BY_ANALOGY if null["level"] == STATED else null["level"]
            cited = make_absolute(str(known["source"]), parent)
            self.tree.set(f"{at}/null_value", {**null, "level": level, "source": cited})
        origins = {key: cited for key, cited in known.get("origins", {}).items() if not parameter.states(key)}
        if not origins:
            self._remove(f"{at}/origins")
        elif origins != known["origins"]:
            self.tree.set(f"{at}/origins", origins)

    def _may_accept(self, name: str, value: Any) -> bool:
        """Return whether the dialect has a parameter for which a value is valid."""
        stated = self._interface.parameters.get(name)
        if stated is None:
            return name in self._interface.mentioned
        return self._is_valid(value, stated)

    def _set_schema(self, path: str, schema: Schema, known: Schema) -> None:
        """Set the keywords that differ, if they are bounds and the like; otherwise the whole schema."""
        differing = {key for key in {*schema, *known} if schema.get(key, ABSENT) != known.get(key, ABSENT)}
        if not differing <= SINGLE:
            self.tree.set(path, schema)
            return
        for key in sorted(differing):
            if key in schema:
                self.tree.set(f"{path}/{key}", schema[key])
            else:
                self.tree.remove.append(f"{path}/{key}")

    def _set_default(self, parameter: StatedParameter, known: Tree, at: str) -> None:
        for key, value in (("default", parameter.default), ("default_note", parameter.default_note or ABSENT)):
            if value is ABSENT:
                self._remove(f"{at}/{key}")
            elif key not in known or repr(known[key]) != repr(value):
                self.tree.set(f"{at}/{key}", value)

    def _follow_schema(self, parameter: StatedParameter, known: Tree, at: str) -> None:
        """Remove what the extended dialect derives from its own document, and what contradicts the new schema."""
        for key in OTHERS_WORDS:
            self._remove(f"{at}/{key}")
        validator = self._validator(parameter.schema)
        neutral = [value for value in known.get("neutral", ()) if _accepts(validator, value, parameter.nullable)]
        if neutral != list(known.get("neutral", ())):
            self.tree.set(f"{at}/neutral", neutral)
        before = jsonschema_rs.validator_for({**known["schema"], "components": {"schemas": self.tree.get("schemas")}})
        for probe in known.get("probes", ()):
            is_changed = validator.is_valid(value := expand_value(probe["value"])) != before.is_valid(value)
            if _is_settled_elsewhere(probe) and not is_changed:  # the loader leaves out a probe that has changed
                self._remove(f"{at}/probes/{identify_item(probe)}")

    def _add(self, parameter: StatedParameter) -> None:
        row: Tree = {
            "summary": parameter.summary or parameter.name,
            "source": f"#request/{parameter.name}",
            **({"required": True} if parameter.required else {}),
            "schema": self._placement.place(parameter.schema, None, f"#request/{parameter.name}"),
            **({} if parameter.default is ABSENT else {"default": parameter.default}),
            **({} if parameter.default_note is None else {"default_note": parameter.default_note}),
            "null_value": _null_value(parameter.nullable),
        }
        self.tree.set(f"parameters/{parameter.name}", row)

    def _validator(self, schema: Schema) -> jsonschema_rs.Validator:
        return jsonschema_rs.validator_for({**schema, "components": {"schemas": self._interface.schemas}})

    def _is_valid(self, value: Any, parameter: StatedParameter) -> bool:
        return _accepts(self._validator(parameter.schema), value, parameter.nullable)

    def _may_inherit(self, default: Any, parameter: StatedParameter) -> bool:
        """Return whether a default of the extended dialect is a value, as far as the source says."""
        return not (default is None and _leaves_out_null(parameter)) and self._is_valid(default, parameter)

    def _fit_answers(self) -> None:
        """Leave out the fields of our own answers that the source does not have."""
        for name, part in (("Answer", "message"), ("Choice", "choice")):
            stated = self.tree.final(f"schemas/{name}") or {}
            if self._interface.answer is not None and "properties" in stated:
                for key in self.tree.get(f"answer/{part}"):
                    if key not in stated["properties"]:
                        self.tree.remove.append(f"answer/{part}/{key}")

    def _remove_others(self) -> None:
        """Remove the parameters that the source does not have; what is only about them goes with them."""
        kept = {*self._interface.parameters, *self._interface.mentioned}
        for name in self.tree.get("parameters"):
            if name not in kept:
                self._remove(f"parameters/{name}")
        for name, row in self.tree.get("requirements").items():
            parameter, *fields = list_request_steps(row["source"])
            stated = self._interface.parameters.get(parameter)
            if stated is None or "schema" in stated.silent or not fields:
                continue
            if not has_field(stated.schema, fields, self._interface.schemas):
                self.tree.remove.append(f"requirements/{name}")

    def _list_statuses(self) -> None:
        known = {str(row["status"]) for row in self.tree.get("errors/kinds").values()}
        others = [status for status in self._interface.errors if status not in known]
        if others:
            text = f"statuses {', '.join(others)} are not among the inherited errors: set errors/kinds"
            self.todos.append(Todo("errors", "responses", text, quoted=False))

    def _remove(self, path: str) -> None:
        *steps, last = path.split("/")
        holder = self.tree.get("/".join(steps)) if "probes" not in steps else {last: None}
        if isinstance(holder, dict) and last in holder:
            self.tree.remove.append(path)


def _leaves_out_null(parameter: StatedParameter) -> bool:
    """Return whether a page states the type of a parameter and says nothing about null."""
    return "null" in parameter.silent and parameter.states("type")


def _null_value(nullable: bool | None) -> Tree:
    """Return whether null is accepted. A type that leaves null out is a weaker word than a sentence about null."""
    if nullable is None:
        return dict(SILENT_NULL)
    return {"expect": "accept", "level": "MUST"} if nullable else {"expect": "reject", "level": "SHOULD"}


def _accepts(validator: jsonschema_rs.Validator, value: Any, nullable: bool | None) -> bool:
    return nullable is not False if value is None else validator.is_valid(value)


def _is_settled_elsewhere(probe: Tree) -> bool:
    """Return whether a probe follows from more than the schema: from an interpretation, or from another document."""
    return bool({"interpretation", "source", "ground"} & set(probe)) or probe.get("level", "MUST") != "MUST"
