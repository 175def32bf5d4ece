"""Interceptors around tool calls and model requests: to log, cache, redact, change or refuse them.

A tool interceptor gets the invocation and the next handler. It may change the invocation, skip the handler, call it
more than once, or change the result. The first in the list is the outermost.
"""

from __future__ import annotations

import inspect
import logging
import math
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Hashable, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from pydantic import BaseModel

from assistant.core.llm.protocol import Delta, Model, ModelRequest
from assistant.core.llm.typed_output import Mode
from assistant.core.values.messages import Reply
from assistant.toolkit import Tool, ToolContext, ToolResult
from assistant.toolkit.calls.gate import HandedIn, called

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Invocation:
    """A tool that is about to run, with its arguments as the model's text or as a mapping.

    Attributes:
        fields: what the model has filled in for the tool's or the client's `augmentation`; None without one.
    """

    tool: Tool
    arguments: str | Mapping[str, Any]
    context: ToolContext = field(repr=False)
    fields: BaseModel | None = field(default=None, repr=False)
    _checked: Mapping[str, Any] | None = field(default=None, init=False, repr=False, compare=False)

    def parsed(self) -> dict[str, Any]:
        """Return the validated arguments as keywords of the handler. Raises `InvalidArguments`."""
        return self.tool.check(self.arguments) if self._checked is None else dict(self._checked)

    @classmethod
    def validated(
        cls,
        tool: Tool,
        arguments: str | Mapping[str, Any],
        context: ToolContext,
        checked: Mapping[str, Any] | None,
        fields: BaseModel | None = None,
    ) -> Invocation:
        """Return an invocation with arguments that need not be validated again to be read, if that may take long."""
        is_costly = tool.signature is not None and tool.signature.has_functions
        return cls(tool, arguments, context, fields)._with(checked if is_costly else None)

    def in_context(self, context: ToolContext) -> Invocation:
        """Return the same invocation with another context."""
        return replace(self, context=context)._with(self._checked)

    def _with(self, checked: Mapping[str, Any] | None) -> Invocation:
        object.__setattr__(self, "_checked", checked)
        return self


CallTool = Callable[[Invocation], Awaitable[ToolResult]]
ToolInterceptor = Callable[[Invocation, CallTool], Awaitable[ToolResult]]
AskModel = Callable[[ModelRequest], AsyncIterator[Delta | Reply]]
ModelInterceptor = Callable[[ModelRequest, AskModel], AsyncIterator[Delta | Reply]]


async def invoke(invocation: Invocation, interceptors: Sequence[ToolInterceptor]) -> ToolResult:
    """Run a tool with interceptors around it. Raises what they or the tool raise."""
    call: CallTool = _run
    for interceptor in reversed(interceptors):
        call = partial(_call_interceptor, interceptor, call)
    return await call(invocation)


@dataclass(slots=True, eq=False)
class Watch:
    """What a cache gives the interceptors and the tool that it wraps, and whether the tool is called with just that.

    Attributes:
        given: the invocation for interceptors, whose context notes what they read of it.
        own: the same for the tool, of whose context only what the tool's function reads is noted.
    """

    given: Invocation
    own: Invocation
    is_unchanged: bool = True

    def of_tool(self, invocation: Invocation) -> Invocation:
        """Return the invocation that the tool is to be called with, and note whether it is another than was given."""
        given = self.given
        is_same = invocation.tool is given.tool and invocation.arguments == given.arguments
        if is_same and invocation.context is given.context:
            return self.own
        self.is_unchanged = False
        return invocation


# Set by a cache while what it wraps runs.
watching: ContextVar[Watch | None] = ContextVar("watching", default=None)


async def _run(invocation: Invocation) -> ToolResult:
    watch = watching.get()
    if watch is not None:
        invocation = watch.of_tool(invocation)
    return await invocation.tool.call(invocation.arguments, invocation.context)


async def _call_interceptor(interceptor: ToolInterceptor, next_handler: CallTool, invocation: Invocation) -> ToolResult:
    result: ToolResult = await called(
        HandedIn(interceptor, (invocation, next_handler), "interceptor", name_of(interceptor), ToolResult, math.inf)
    )
    return result


class InterceptedModel:
    """A model with interceptors around every request."""

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
        """The provider's name in OpenTelemetry."""
        return str(getattr(self._model, "well_known_provider", self._model.provider))

    @property
    def server_url(self) -> str:
        """The address of the model's server; "" if it has none."""
        return str(getattr(self._model, "server_url", ""))

    @property
    def circuit_key(self) -> Hashable:
        """What distinguishes the model from others, in `Circuits`."""
        return getattr(self._model, "circuit_key", None)

    @property
    def provider_tools(self) -> frozenset[str]:
        """The names of the tools that the provider runs itself."""
        names: frozenset[str] = getattr(self._model, "provider_tools", frozenset())
        return names

    @property
    def output_mode(self) -> Mode:
        """How typed answers are requested from the model."""
        mode: Mode = getattr(self._model, "output_mode", "native")
        return mode

    def stream(self, request: ModelRequest) -> AsyncIterator[Delta | Reply]:
        ask: AskModel = self._model.stream
        for interceptor in reversed(self._interceptors):
            ask = partial(_ask_interceptor, interceptor, ask)
        return ask(request)


def _ask_interceptor(
    interceptor: ModelInterceptor, ask: AskModel, request: ModelRequest
) -> AsyncIterator[Delta | Reply]:
    if inspect.isasyncgenfunction(interceptor) or inspect.isasyncgenfunction(getattr(interceptor, "__call__", None)):  # noqa: B004
        return interceptor(request, ask)
    return _stream_of(interceptor, ask, request)


async def _stream_of(
    interceptor: ModelInterceptor, ask: AskModel, request: ModelRequest
) -> AsyncGenerator[Delta | Reply]:
    """Yield the stream that a function returns, which is no generator itself."""
    name = name_of(interceptor)
    stream = await called(HandedIn(interceptor, (request, ask), "model interceptor", name, AsyncIterator, math.inf))
    try:
        async for item in stream:
            yield item
    finally:
        if isinstance(stream, AsyncGenerator):
            await stream.aclose()


def name_of(function: Any) -> str:
    """Return the name of a function or of its class, for errors."""
    return str(getattr(function, "__qualname__", "") or type(function).__qualname__)
