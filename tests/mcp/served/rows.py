"""Each way to define a tool, with a call of it and what it tells: the same in every place that serves tools."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel

from assistant.toolkit import Tool, tool, tools_of


class Calendar:
    def __init__(self, today: str) -> None:
        self.today = today

    @tool(enabled_by_default=True)
    def row_of_object(self, shout: bool = False) -> str:
        """Tell which day it is."""
        return self.today.upper() if shout else self.today


class Lengths:
    @staticmethod
    @tool(enabled_by_default=True)
    def row_of_class(feet: float) -> float:
        """Convert feet to metres."""
        return feet * 0.25


def _doubled(number: int) -> int:
    return 2 * number


def _with_type(value: Any, declared: Any) -> str:
    return f"{declared.__name__} of {len(value)}"


@tool(enabled_by_default=True, result_converter=_with_type)
def row_converter() -> tuple:  # type: ignore[type-arg]
    """List what there is."""
    return ("a", "b")


@tool(enabled_by_default=True, on_error=lambda exc: f"Not in stock: {exc.args[0]}.")
def row_sentence(number: int) -> str:
    """Find a part."""
    return {7: "bolt"}[number]


@tool(enabled_by_default=True, on_error={LookupError: lambda exc: "No such part.", ConnectionError: "raise"})
def row_classes(number: int) -> str:
    """Find a part by a mapping of exceptions."""
    if number == 0:
        raise ConnectionError("the password is hunter2")
    return {7: "bolt"}[number]


class Reasons(BaseModel):
    why: str


@tool(enabled_by_default=True, augmentation=Reasons)
def row_augmented(number: int) -> dict[str, int]:
    """Return what the tool gets."""
    return dict(locals())


@tool(enabled_by_default=True, return_direct=True)
def row_direct(name: str) -> str:
    """Greet somebody, in the model's place."""
    return f"Good day, {name}."


@tool(enabled_by_default=True)
async def row_of_nothing(number: int) -> None:
    """Take a number, and give nothing back."""


TOOLS = [
    *tools_of(Calendar("Monday")),
    *tools_of(Lengths),
    Tool.from_function(_doubled, name="row_callable", description="Double a number.", enabled_by_default=True),
    Tool.from_function(
        lambda text: text[::-1], name="row_text", description="Reverse a text.", input_type=str, enabled_by_default=True
    ),
    Tool(
        name="row_written",
        description="Count letters.",
        parameters={"type": "object", "properties": {"word": {"type": "string"}}, "required": ["word"]},
        handler=lambda arguments: len(arguments["word"]),
        enabled_by_default=True,
    ),
    row_converter,
    row_sentence,
    row_classes,
    row_augmented,
    row_direct,
    row_of_nothing,
]


@dataclass(frozen=True)
class Row:
    """A call.

    Attributes:
        told: what the model or the caller reads.
        is_answer: whether it is the answer of a tenant's run.
        fails: whether it is an error.
    """

    tool: str
    arguments: Mapping[str, Any]
    told: str
    is_answer: bool = False
    fails: bool = False


ROWS = [
    Row("row_of_object", {"shout": True}, "MONDAY"),
    Row("row_of_class", {"feet": 8}, "2.0"),
    Row("row_callable", {"number": 21}, "42"),
    Row("row_text", {"text": "owl"}, "lwo"),
    Row("row_written", {"word": "owls"}, "4"),
    Row("row_converter", {}, "tuple of 2"),
    Row("row_sentence", {"number": 8}, "Not in stock: 8.", fails=True),
    Row("row_classes", {"number": 8}, "No such part.", fails=True),
    Row("row_augmented", {"why": "Bob asked", "number": 7}, '{"number":7}'),
    Row("row_direct", {"name": "Ann"}, "Good day, Ann.", is_answer=True),
    Row("row_of_nothing", {"number": 1}, "Done"),
]
