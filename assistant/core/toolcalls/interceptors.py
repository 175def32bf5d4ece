"""What may stand around every tool call and every question to a model: to log, cache, redact, change or refuse.

A tool interceptor gets the invocation and the next one in line; it may change the invocation, not go on, go on more
than once, or change the result. The first in the list is the outermost.
"""

from __future__ import annotations

import logging
import re
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from cachetools import TTLCache

from assistant.core.llm.protocol import Delta, Model, ModelRequest
from assistant.core.llm.typed_output import Mode
from assistant.core.values.messages import Reply
from assistant.toolkit import Tool, ToolContext, ToolError, ToolResult
from assistant.toolkit.calls.arguments import parse_arguments
from assistant.toolkit.logs import whose

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Invocation:
    """A tool about to be run with these arguments, as the model's text or as a mapping."""

    tool: Tool
    arguments: str | Mapping[str, Any]
    context: ToolContext = field(repr=False)

    def parsed(self) -> dict[str, Any]:
        """The arguments as the handler's keywords. Raises `InvalidArguments`."""
        return self.tool.check(self.arguments)


CallTool = Callable[[Invocation], Awaitable[ToolResult]]
ToolInterceptor = Callable[[Invocation, CallTool], Awaitable[ToolResult]]
AskModel = Callable[[ModelRequest], AsyncIterator[Delta | Reply]]
ModelInterceptor = Callable[[ModelRequest, AskModel], AsyncIterator[Delta | Reply]]


async def invoke(invocation: Invocation, interceptors: Sequence[ToolInterceptor]) -> ToolResult:
    """Run a tool with these interceptors around it. Raises what they or the tool raise."""
    call: CallTool = _run
    for interceptor in reversed(interceptors):
        call = partial(_step, interceptor, call)
    return await call(invocation)


async def _run(invocation: Invocation) -> ToolResult:
    return await invocation.tool.call(invocation.arguments, invocation.context)


async def _step(interceptor: ToolInterceptor, following: CallTool, invocation: Invocation) -> ToolResult:
    return await interceptor(invocation, following)


class InterceptedModel:
    """A model with interceptors around every question to it."""

    def __init__(self, model: Model, interceptors: Sequence[ModelInterceptor]) -> None:
        self._model = model
        self._interceptors = tuple(interceptors)

    @property
    def name(self) -> str:
        return self._model.name

    @property
    def provider(self) -> str:
        return self._model.provider

    @property
    def well_known_provider(self) -> str:
        """The provider as telemetry names it."""
        return str(getattr(self._model, "well_known_provider", self._model.provider))

    @property
    def output_mode(self) -> Mode:
        """How the model wants to be asked for typed answers."""
        mode: Mode = getattr(self._model, "output_mode", "native")
        return mode

    def stream(self, request: ModelRequest) -> AsyncIterator[Delta | Reply]:
        ask: AskModel = self._model.stream
        for interceptor in reversed(self._interceptors):
            ask = partial(_ask, interceptor, ask)
        return ask(request)


def _ask(interceptor: ModelInterceptor, following: AskModel, request: ModelRequest) -> AsyncIterator[Delta | Reply]:
    return interceptor(request, following)


async def log_calls(invocation: Invocation, call: CallTool) -> ToolResult:
    """Log each call with its tenant, run and duration; never what was said."""
    began = time.perf_counter()
    ending = "failed"
    try:
        result = await call(invocation)
        ending = "returned"
        return result
    finally:
        context = invocation.context
        milliseconds = (time.perf_counter() - began) * 1000
        logger.info(
            "Tool %s %s after %.0f ms (tenant %s, run %s, call %s)",
            invocation.tool.name,
            ending,
            milliseconds,
            context.tenant.slug,
            context.run_id,
            context.tool_call_id,
            extra=whose(context),
        )


@dataclass(frozen=True, slots=True)
class _Kept:
    """A result, good for exactly these circumstances."""

    result: ToolResult
    circumstances: tuple[Any, ...]
    # While it is kept, nothing else can have the ids of what it runs.
    tool: Tool


class Cache:
    """Remembers what idempotent, read-only calls returned, for each function or method of one object, tenant, user and
    further context apart.

    Args:
        seconds: how long a result is good for.
        size: how many are kept; the least recently used go first.
    """

    def __init__(self, seconds: float = 60.0, size: int = 1000) -> None:
        self._results: TTLCache[tuple[object, ...], _Kept, float] = TTLCache(size, seconds)

    async def __call__(self, invocation: Invocation, call: CallTool) -> ToolResult:
        tool, context = invocation.tool, invocation.context
        if not (tool.idempotent and tool.read_only):
            return await call(invocation)
        # Whatever else a tool can see must be the same; plain values of it, such as a tenant's name, are in the key.
        circumstances = (dict(context.extra), context.config, dict(context.secrets), tool.parameters)
        plain = frozenset(item for item in context.extra.items() if isinstance(item[1], str | int))
        # The text, for values that differ may look alike: secrets, long fractions, fields that are left out of `repr`.
        arguments = parse_arguments(invocation.arguments).text
        key = (*_identity(tool), context.tenant, context.user, context.assistant, plain, arguments)
        found = self._results.get(key)
        if found is not None and found.circumstances == circumstances:
            return found.result
        result = await call(invocation)
        if not result.is_error:
            self._results[key] = _Kept(result, circumstances, tool)
        return result


def _identity(tool: Tool) -> tuple[int, ...]:
    """What a tool runs, and what it makes of the result: two tools may have one name, and two methods one function."""
    handler = tool.handler
    function, owner = getattr(handler, "__func__", handler), getattr(handler, "__self__", None)
    return id(function), id(owner), id(tool.result_converter)


class Redact:
    """Hides what matches a pattern, such as card numbers, in whatever a call comes to, for model, page and audit.

    Errors, structured values and names of files are looked through, too; what is in files is not.

    Args:
        patterns: regular expressions.
        mark: what stands in the place of a match.
    """

    def __init__(self, *patterns: str, mark: str = "[hidden]") -> None:
        self._patterns = [re.compile(pattern) for pattern in patterns]
        self._mark = mark

    async def __call__(self, invocation: Invocation, call: CallTool) -> ToolResult:
        try:
            result = await call(invocation)
        except ToolError as exc:
            sentence = self._hidden(str(exc))
            if sentence == str(exc):
                raise
            raise ToolError(sentence) from exc
        content = self._hidden(result.content)
        return replace(
            result,
            content=content,
            full=result.full if content == result.content else "",
            display=self._hidden_within(result.display),
            value=self._hidden_within(result.value),
            media=tuple(
                replace(one, name=self._hidden(one.name), description=self._hidden(one.description))
                for one in result.media
            ),
        )

    def _hidden(self, text: str) -> str:
        for pattern in self._patterns:
            text = pattern.sub(self._mark, text)
        return text

    def _hidden_within(self, value: Any) -> Any:
        """A value of JSON's kinds with its texts and numbers hidden; any other as it is, for it is nobody's to read."""
        if isinstance(value, dict):
            return {self._hidden_within(key): self._hidden_within(item) for key, item in value.items()}
        if isinstance(value, list | tuple):
            return [self._hidden_within(item) for item in value]
        if isinstance(value, str):
            return self._hidden(value)
        if isinstance(value, int | float) and self._hidden(str(value)) != str(value):
            return self._mark
        return value
