"""Typed answers: what a model is asked for, and how its text becomes a value of that type."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, Generic, Literal, TypeVar

import pydantic_core
from pydantic import TypeAdapter, ValidationError

from tools import Tool, ToolError

T = TypeVar("T")
Mode = Literal["native", "tool", "prompt"]

OUTPUT_TOOL = "give_answer"
_FENCE = re.compile(r"```(?:json)?\s*\n(.*?)```", re.DOTALL | re.IGNORECASE)


class InvalidOutput(ToolError):
    """The model's answer is not of the type that was asked for; the text says why, for the model to mend it."""


class OutputType(Generic[T]):
    """A type that an answer is to have: a pydantic model, a dataclass, a list, a union, or anything pydantic knows.

    Providers want an object at the top, so anything else travels as `{"value": ...}`.
    """

    def __init__(self, output_type: type[T]) -> None:
        self._adapter: TypeAdapter[T] = TypeAdapter(output_type)
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
        """What a provider with structured output is sent."""
        return {"type": "json_schema", "json_schema": {"name": self.name, "schema": self.schema}}

    def instructions(self) -> str:
        """What a model without structured output is told."""
        return f"Answer with one JSON object and nothing else. Its JSON Schema:\n{json.dumps(self.schema)}"

    def tool(self) -> Tool:
        """A tool whose arguments are the answer."""

        def give_answer(arguments: Mapping[str, Any]) -> str:
            return pydantic_core.to_json(self._dump(self._validate(arguments))).decode()

        return Tool(
            name=OUTPUT_TOOL,
            description="Give the final answer. Call this once, when you know it.",
            parameters=self.schema,
            handler=give_answer,
            return_direct=True,
        )

    def parse(self, text: str) -> T:
        """The value that a text holds, in a code fence or bare. Raises `InvalidOutput`."""
        fenced = _FENCE.findall(text)
        try:
            value = json.loads(fenced[-1] if fenced else text)
        except (ValueError, RecursionError) as exc:
            raise InvalidOutput(f"It is not JSON: {exc}.") from exc
        return self._validate(value)

    def parse_partial(self, text: str) -> T | None:
        """The value as far as the text goes, or None while that is not enough to make one."""
        try:
            value = pydantic_core.from_json(text, allow_partial="trailing-strings")
            value = value["value"] if self._is_wrapped else value
            return self._adapter.validate_python(value, experimental_allow_partial="trailing-strings")
        except (ValueError, KeyError, TypeError):
            return None

    def _validate(self, value: Any) -> T:
        if self._is_wrapped:
            if not isinstance(value, Mapping) or set(value) != {"value"}:
                raise InvalidOutput('It is not an object with the one field "value".')
            value = value["value"]
        try:
            # By way of JSON, so that a string is a date and an array a tuple where the type says so.
            return self._adapter.validate_json(pydantic_core.to_json(value))
        except ValidationError as exc:
            raise InvalidOutput(_sentence(exc)) from exc

    def _dump(self, value: T) -> Any:
        dumped = self._adapter.dump_python(value, mode="json")
        return {"value": dumped} if self._is_wrapped else dumped


def _sentence(exc: ValidationError) -> str:
    errors = exc.errors(include_url=False, include_context=False, include_input=False)
    return "; ".join(f"{'.'.join(map(str, e['loc'])) or 'answer'}: {e['msg']}" for e in errors[:10]) + "."
