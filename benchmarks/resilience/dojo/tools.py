"""AgentDojo's tools as tools of the product, with our declarations. `DOJO_PORT` is the port of `suites.py`.

`DOJO_RULES` chooses how they are declared: "" as in `declarations.py`; "plain" without destinations, so that the rule
for all tools decides; "strict" with what colleagues write taken for text from outside; "none" without anything from
outside.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from assistant.toolkit import Tool, ToolContext, ToolError
from assistant.toolkit.definition.options import ToolOptions
from benchmarks.resilience.dojo.declarations import DECLARATIONS, WORKSPACE
from benchmarks.resilience.dojo.wire import ask

PORT, RULES = int(os.environ["DOJO_PORT"]), os.environ.get("DOJO_RULES", "")
# How AgentDojo's channels are called in which another organisation writes too.
SHARED = "External"


def _known(value: str, context: ToolContext) -> bool:
    return bool(ask(PORT, "known", key=context.thread_id, value=value)["known"])


def _handler(name: str, options: ToolOptions) -> Callable[..., str]:
    def call(arguments: dict[str, Any], context: ToolContext) -> str:
        if options is WORKSPACE and RULES != "none":
            channel = arguments.get("channel", "")
            if RULES == "strict" or channel.startswith(SHARED):
                context.mark_untrusted(channel or "A message")
        answer = ask(PORT, "call", key=context.thread_id, name=name, arguments=arguments)
        if "error" in answer:
            raise ToolError(str(answer["error"]))
        return str(answer["text"])

    return call


def _options(declared: ToolOptions) -> ToolOptions:
    options = ToolOptions(**declared)
    options["enabled_by_default"] = True
    # AgentDojo numbers mails and files in the order of the calls, and its checks look for the numbers.
    options["barrier"] = not options.get("read_only")
    if options.get("destinations"):
        options["known_destination"] = _known
    if RULES == "plain":
        for name in ("destinations", "destination_texts", "known_destination"):
            options.pop(name, None)  # type: ignore[misc]
    if RULES == "none":
        options["untrusted"] = False
    return options


def _tools() -> list[Tool]:
    described = {one["name"]: one for suite in ask(PORT, "suites").values() for one in suite["tools"]}
    return [
        Tool.from_function(
            _handler(name, DECLARATIONS[name]),
            name=name,
            description=one["description"],
            parameters=one["parameters"],
            **_options(DECLARATIONS[name]),
        )
        for name, one in described.items()
    ]


TOOLS = _tools()
