"""Worked examples, which show small models how a tool is used."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class ExampleStep:
    """A call of another tool that a worked example makes first, and what the model reads of its result."""

    tool: str
    arguments: Mapping[str, Any]
    result: str


@dataclass(frozen=True, slots=True)
class Example:
    """A worked example for small models: what a user says, the call that answers it, its result, and the answer.

    Small models repeat what they were shown, so its values should be ones that nobody could mistake for real ones.
    """

    user: str
    arguments: Mapping[str, Any]
    answer: str = ""
    result: str = ""
    before: Sequence[ExampleStep] = ()
