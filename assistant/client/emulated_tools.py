"""Answers tool calls without running the tools, for tests of prompts and of flows."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Collection, Mapping
from contextlib import aclosing
from typing import Any

from assistant.core.extensions.extension import Extension
from assistant.core.extensions.interceptors import CallTool, Invocation
from assistant.core.llm.answer_reader import read_answer
from assistant.core.llm.protocol import Model, ModelRequest
from assistant.core.values.messages import Message, Reply
from assistant.toolkit import ToolError, ToolResult
from assistant.toolkit.calls.call import convert
from assistant.toolkit.calls.gate import HandedIn, called

_TASK = (
    "You stand in for a tool in a test. Answer with what the tool would return for these arguments: plausible, made "
    "up, and nothing else."
)


class EmulatedTools(Extension[None]):
    """Answers calls of tools in their place. Arguments are validated as for the tools themselves, which do not run.

    Args:
        results: by tool name, the result, an exception to raise, or a function of the arguments that returns either.
        model: makes up the results of other tools; without one they are refused.
        only: the tools that are emulated; the others run. None for all.
    """

    guards = True
    in_sub_agents = True

    def __init__(
        self,
        results: Mapping[str, Any | Callable[[dict[str, Any]], Any]] | None = None,
        *,
        model: Model | None = None,
        only: Collection[str] | None = None,
    ) -> None:
        self._results = dict(results or {})
        self._model = model
        self._only = None if only is None else frozenset(only)

    async def around_tool(self, invocation: Invocation, call: CallTool) -> ToolResult:
        tool = invocation.tool
        if self._only is not None and tool.name not in self._only:
            return await call(invocation)
        arguments = invocation.parsed()
        if tool.name in self._results:
            value = self._results[tool.name]
            if callable(value) and not isinstance(value, type):
                asked = HandedIn(value, (arguments,), "results", "EmulatedTools", seconds=math.inf)
                value = await called(asked)
        elif self._model is not None:
            value = await self._made_up(self._model, invocation)
        else:
            raise ToolError(f"The tool {tool.name} is emulated, and has no result.")
        if isinstance(value, BaseException):
            raise value
        return value if isinstance(value, ToolResult) else ToolResult(convert(value), value=value)

    async def _made_up(self, model: Model, invocation: Invocation) -> str:
        arguments = invocation.arguments
        written = arguments if isinstance(arguments, str) else json.dumps(dict(arguments))
        described = f"Tool: {invocation.tool.name}\n{invocation.tool.description}\nArguments: {written}"
        request = ModelRequest([Message("system", _TASK), Message("user", described)])
        text = ""
        async with aclosing(read_answer(model, request)) as parts:
            async for part in parts:
                text = part.text if isinstance(part, Reply) else text
        return text
