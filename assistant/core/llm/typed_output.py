"""Typed answers: how a type is requested from a model, and how its text becomes a value of that type."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import Any, Generic, Literal, TypeVar, cast

import pydantic_core
from pydantic import TypeAdapter, ValidationError

from assistant.toolkit import InvalidArguments, Tool, ToolError
from assistant.toolkit.bounded_json import load_json
from assistant.toolkit.calls.arguments import coerce, parse_arguments, unique
from assistant.toolkit.calls.gate import HandedIn, called
from assistant.toolkit.calls.left_awaitables import refuse_awaitable_inputs, refuse_awaitables
from assistant.toolkit.definition.handwritten import HandWritten, closed
from assistant.toolkit.schema.check import TooCostly, schema_error
from assistant.toolkit.schema.error_sentences import ROOT, UNDESCRIBED, Problem
from assistant.toolkit.schema.exact_types import exact_types_of
from assistant.toolkit.schema.own_functions import has_own_functions
from assistant.toolkit.schema.parameters import refuse_async_functions
from assistant.toolkit.validation_errors import sentence

T = TypeVar("T")
Mode = Literal["native", "tool", "prompt"]

OUTPUT_TOOL = "give_answer"
# The white space after the language excludes line breaks: otherwise a run of empty lines would be searched repeatedly.
_FENCE = re.compile(r"```(?:json)?[^\S\n]*\n(.*?)```", re.DOTALL | re.IGNORECASE)


class InvalidOutput(ToolError):
    """The model's answer is not of the requested type; the text says why, so that the model can repair it."""


class OutputType(Generic[T]):
    """The type of an answer: a pydantic model, a dataclass, a list, a union, or anything else pydantic validates.

    Providers require an object at the top level, so any other type is requested as `{"value": ...}`. An answer
    without this wrapper is accepted too.

    Raises:
        InvalidTool: a validator of the type is async.

    Attributes:
        has_functions: whether validating calls functions of the program's own, which may wait.
    """

    def __init__(self, output_type: type[T]) -> None:
        self._adapter: TypeAdapter[T] = TypeAdapter(output_type)
        refuse_async_functions("The output_type", self._adapter)
        self.has_functions = has_own_functions(self._adapter)
        self._exact = exact_types_of(self._adapter, is_closed=False)
        schema = self._adapter.json_schema()
        self._is_wrapped = schema.get("type") != "object"
        definitions = {"$defs": schema.pop("$defs")} if self._is_wrapped and "$defs" in schema else {}
        self.schema: dict[str, Any] = (
            {"type": "object", "properties": {"value": schema}, "required": ["value"], **definitions}
            if self._is_wrapped
            else schema
        )
        self.name = re.sub(r"[^a-zA-Z0-9_-]", "_", getattr(output_type, "__name__", "answer"))[:64]

    def response_format(self) -> dict[str, Any]:
        """Return the `response_format` for providers with structured output."""
        return {"type": "json_schema", "json_schema": {"name": self.name, "schema": self.schema}}

    def instructions(self) -> str:
        """Return the instruction for models without structured output."""
        return f"Answer with one JSON object and nothing else. Its JSON Schema:\n{json.dumps(self.schema)}"

    def tool(self) -> Tool:
        """Return a tool whose arguments are the answer."""

        def give_answer(arguments: Mapping[str, Any]) -> str:
            return pydantic_core.to_json(self._dump(self._validate(arguments))).decode()

        return Tool(
            name=OUTPUT_TOOL,
            description="Give the final answer. Call this once, when you know it.",
            parameters=self.schema,
            handler=give_answer,
            return_direct=True,
        )

    async def parsed(self, text: str) -> T:
        """Return the value as `parse` does. Where that calls validators of the program's own, it runs in a thread.

        Raises:
            InvalidOutput: the text is not of the type.
            NoAnswer: such a validator has returned an awaitable, or has taken too long.
        """
        return await self._called(self.parse, text) if self.has_functions else self.parse(text)

    async def parsed_partial(self, text: str) -> T | None:
        """Return the value as `parse_partial` does, likewise."""
        if not self.has_functions:
            return self.parse_partial(text)
        return cast("T | None", await self._called(self.parse_partial, text))

    async def _called(self, parse: Callable[[str], Any], text: str) -> Any:
        return await called(HandedIn(parse, (text,), "output_type", self.name))

    def parse(self, text: str) -> T:
        """Return the value in a text, with or without a code fence. Raises `InvalidOutput`."""
        fenced = _FENCE.findall(text)
        if len(fenced) > 1:
            raise InvalidOutput("It has more than one code fence, and may mean either.")
        try:
            value = load_json(fenced[0] if fenced else text, object_pairs_hook=unique)
        except ValueError as exc:
            raise InvalidOutput(f"It is not JSON: {exc}.") from exc
        return self._validate(value)

    def parse_partial(self, text: str) -> T | None:
        """Return the value of an incomplete text, or None while it is not valid yet."""
        try:
            value = coerce(pydantic_core.from_json(text, allow_partial="trailing-strings"), self.schema, self.schema)
            value = value["value"] if self._is_wrapped and isinstance(value, Mapping) else value
            if self._converted(value):
                return None
            whole = pydantic_core.to_json(value)
            partial = self._adapter.validate_json(whole, strict=True, experimental_allow_partial="trailing-strings")
            self._refuse_awaitables(partial)
            return partial
        except ValidationError as exc:
            self._refuse_awaitable_inputs(exc)
            return None
        except (ValueError, KeyError, TypeError):
            return None

    def to_json(self, value: T) -> Any:
        """Return the value as JSON values."""
        return self._adapter.dump_python(value, mode="json")

    def _validate(self, value: Any) -> T:
        # In the strict form of a schema, null means that an optional field was left out.
        has_wrapper = not self._is_wrapped or (isinstance(value, Mapping) and set(value) == {"value"})
        value = coerce(value, self.schema if has_wrapper else self.schema["properties"]["value"], self.schema)
        if self._is_wrapped and has_wrapper:
            value = value["value"]
        try:
            # Through JSON, so that strings become dates and arrays tuples where the type requires it.
            answer = self._adapter.validate_json(pydantic_core.to_json(value), strict=True)
            self._refuse_awaitables(answer)
        except ValidationError as exc:
            self._refuse_awaitable_inputs(exc)
            missing = "" if has_wrapper else 'It is not an object with the one field "value". '
            raise InvalidOutput(missing + sentence(exc, root="answer", limit=10)) from exc
        if converted := self._converted(value):
            raise InvalidOutput("; ".join(f"{path}: {problem}" for path, problem in converted[:10]) + ".")
        return answer

    def _refuse_awaitables(self, value: T) -> None:
        if self.has_functions:
            refuse_awaitables(value)

    def _refuse_awaitable_inputs(self, exc: ValidationError) -> None:
        if self.has_functions:
            refuse_awaitable_inputs(exc)

    def _converted(self, value: Any) -> list[Problem]:
        """Return the problems of values that the validator would convert to another type."""
        try:
            found = [] if self._exact is None else self._exact.problems(value)
        except TooCostly:
            found = [(ROOT, UNDESCRIBED)]
        return [("answer" if path == ROOT else path, problem) for path, problem in found]

    def _dump(self, value: T) -> Any:
        dumped = self._adapter.dump_python(value, mode="json")
        return {"value": dumped} if self._is_wrapped else dumped


class SchemaOutput(OutputType[Any]):
    """A JSON Schema of an object as the type of an answer, for types that are known only at run time.

    Raises:
        ValueError: the schema is not valid, or not of an object.
    """

    def __init__(self, schema: Mapping[str, Any], name: str = "answer") -> None:
        copy = dict(schema) if isinstance(schema, Mapping) else schema
        mistake = schema_error(closed(copy)) if isinstance(copy, dict) else "the schema must be an object"
        if mistake or copy.get("type") != "object":
            raise ValueError(mistake or 'the schema must have "type": "object"')
        self.schema = copy
        self.name = re.sub(r"[^a-zA-Z0-9_-]", "_", str(copy.get("title") or name))[:64]
        self._is_wrapped = self.has_functions = False
        self._checker = HandWritten(copy)

    def parse_partial(self, text: str) -> Any:
        try:
            value = pydantic_core.from_json(text, allow_partial="trailing-strings")
        except ValueError:
            return None
        return value if isinstance(value, dict) and value else None

    def to_json(self, value: Any) -> Any:
        return value

    def _validate(self, value: Any) -> Any:
        if not isinstance(value, Mapping):
            raise InvalidOutput("It is not a JSON object.")
        try:
            return self._checker.check(parse_arguments(value))
        except InvalidArguments as exc:
            wrong = "; ".join(f"{field}: {problem}" for field, problem in exc.fields.items())
            raise InvalidOutput(f"{wrong or exc}.") from exc

    def _dump(self, value: Any) -> Any:
        return value


def check_schema(schema: Any) -> dict[str, Any]:
    """Return the schema if it can be the type of an answer. Raises `ValueError` with what is wrong."""
    return SchemaOutput(schema).schema


def output_of(output_type: Any) -> OutputType[Any]:
    """Return the type of an answer, given as a type or as a JSON Schema.

    Raises:
        ValueError: the schema is not valid.
        InvalidTool: a validator of the type is async.
    """
    if isinstance(output_type, OutputType):
        return output_type
    return SchemaOutput(output_type) if isinstance(output_type, Mapping) else OutputType(output_type)
