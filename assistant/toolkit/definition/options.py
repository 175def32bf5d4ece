"""The options of a tool, as `@tool` and `Tool.from_function` take them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, TypedDict

from pydantic import BaseModel

from assistant.toolkit.context import ToolContext
from assistant.toolkit.definition.examples import Example
from assistant.toolkit.definition.failures import OnError
from assistant.toolkit.definition.questions import Preview, Question
from assistant.toolkit.definition.results import ResultConverter
from assistant.toolkit.definition.texts import LazyText
from assistant.toolkit.schema.json_schema import JsonSchema


class ToolOptions(TypedDict, total=False):
    """The options of a tool; `Tool` documents them."""

    return_direct: bool
    requires_approval: bool | Callable[[Mapping[str, Any], ToolContext], bool | Awaitable[bool]]
    timeout: float | None
    result_converter: ResultConverter | None
    config: type[BaseModel] | None
    permission: str | None
    read_only: bool
    idempotent: bool
    title: str | LazyText
    destructive: bool | None
    open_world: bool | None
    untrusted: bool
    lists_choices: bool
    destinations: Sequence[str]
    destination_texts: Sequence[str]
    known_destination: Callable[[str, ToolContext], bool | Awaitable[bool]] | None
    enabled_by_default: bool
    examples: Sequence[Example]
    max_calls: int | None
    retries: int
    retry_on: tuple[type[Exception], ...]
    retry_delay: float
    secrets: Sequence[str]
    needs_context: Sequence[str]
    atomic: bool
    barrier: bool
    waits: bool
    on_error: OnError
    available: Callable[[ToolContext], bool | Awaitable[bool]] | None
    describe: Callable[[ToolContext], str | Awaitable[str]] | None
    output_schema: JsonSchema | None
    asks: Callable[[Mapping[str, Any]], Question | Awaitable[Question]] | None
    preview: Preview | None
    augmentation: type[BaseModel] | None
