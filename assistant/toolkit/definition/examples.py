"""Worked examples of tools, for small models."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class ExampleStep:
    """A preceding call of another tool in a worked example, with its result."""

    tool: str
    arguments: Mapping[str, Any]
    result: str


@dataclass(frozen=True, slots=True)
class Example:
    """A worked example for small models: the user's message, the call, its result, and the answer.

    Small models repeat examples, so use values that cannot be mistaken for real ones.
    """

    user: str
    arguments: Mapping[str, Any]
    answer: str = ""
    result: str = ""
    before: Sequence[ExampleStep] = ()
