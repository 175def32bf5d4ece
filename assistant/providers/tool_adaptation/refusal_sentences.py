"""Reads from a provider's refusal whether it is about a tool, and which."""

from __future__ import annotations

import re
from collections.abc import Sequence

from assistant.core.llm.protocol import ModelError
from assistant.providers.openai_wire.refusals import Refusal
from assistant.toolkit import Tool

MAX_SEARCHED = 4_000
# How providers name a tool's place. Google's functions are within one tool, which its refusals name first. Servers
# that check requests with pydantic give the path as a list: `"loc": ["body", "tools", 7, "function"]`.
_FUNCTION_PLACE = re.compile(r"function_?declarations\s*[\[.]\s*(\d+)", re.IGNORECASE)
_PLACE = re.compile(r"\b(?:tools|functions)\s*[\[.]\s*(\d+)", re.IGNORECASE)
_PATH = re.compile(r"['\"]body['\"]\s*,\s*['\"](?:tools|functions)['\"]\s*,\s*(\d+)")
# Refusals that can come from a tool's definition, and those that are about something else.
_ABOUT_TOOLS = re.compile(
    r"\btools?\b|\bfunctions?\b|function_?declaration|\bschema\b|\bproperty\b|\bproperties\b|\bparameters\b",
    re.IGNORECASE,
)
_ABOUT_OTHERS = re.compile(
    r"tool_?choice|tool_?calls?\b|tool_?use|tool_?result|tool_call_id|response_?format|text\.format|output_config"
    r"|does not support|doesn't support|not supported (?:by|for|with) (?:this|the) model|support tool use|\bmessages?\b"
    r"|['\"`]tools['\"`]"  # the list as a whole
    r"|parallel|temperature|top_p|max_tokens|context",
    re.IGNORECASE,
)
# Refusals of a tool's definition, if they name the tool; and what says that they are about a call of it.
_OF_DEFINITION = re.compile(r"\bschemas?\b|input_schema|\bparameters\b", re.IGNORECASE)
_OF_CALLS = re.compile(r"tool_?choice|tool_?calls?\b|tool_?use|tool_?result|\bmessages\s*[\[.]", re.IGNORECASE)
# What servers say that make a grammar of the schemas of all tools, or of a typed answer's.
_GRAMMAR = re.compile(r"\bgrammar\b", re.IGNORECASE)
# What servers say with a status of 5xx that fail to make one, and those whose template fails to write the tools.
_DEFINITIONS = re.compile(
    r"\bgrammar\b|(?<!database )\bschemas?\b|(?:tool|function)[ _-]?(?:definition|declaration)s?\b", re.IGNORECASE
)
_TEMPLATE = re.compile(r"\bjinja\b|\bchat template\b|\bprompt template\b", re.IGNORECASE)
# Refusals without a reason.
_VAGUE = re.compile(
    r"invalid argument|^\W*bad request|invalid request|provider returned error|^error code: 4\d\d\W*$|^$",
    re.IGNORECASE,
)


def named_tools(error: ModelError, tools: Sequence[Tool]) -> list[Tool]:
    """Return the tools that a refusal names, by their names or their places in the request."""
    said = said_in(error)
    places = _places(error)
    by_place = [tools[int(place)] for place in dict.fromkeys(places) if len(place) < 4 and int(place) < len(tools)]
    by_name = [tool for tool in tools if _names(said, tool.name)]
    # A name is what the provider means; it may count places otherwise.
    return by_name or by_place


def may_be_a_tool(error: ModelError, tools: Sequence[Tool], *, is_typed: bool, has_new: bool) -> bool:
    """Return whether a failed request can have failed because of the definition of a tool.

    Args:
        tools: those that were offered.
        is_typed: whether a typed answer was requested, which has a schema too.
        has_new: whether one of the tools was in no request that this provider has accepted.
    """
    if not tools:
        return False
    said = said_in(error)
    if not isinstance(error, Refusal):
        if error.kind != "down" or error.details is None or (error.details.status or 0) < 500:
            return False
        if named_tools(error, tools):
            return True
        return bool(not is_typed and (_DEFINITIONS.search(said) or (has_new and _TEMPLATE.search(said))))
    if error.kind:
        return False  # which the turn handles
    if _places(error):
        return True
    if _GRAMMAR.search(said):
        return not is_typed
    if _OF_DEFINITION.search(said) and not _OF_CALLS.search(said) and any(_names(said, tool.name) for tool in tools):
        return True  # whatever words the rest has: such as names of the tool's properties
    if _ABOUT_OTHERS.search(said):
        return False
    return bool(_ABOUT_TOOLS.search(said) or (has_new and _VAGUE.search(said)))


def is_about_definitions(error: ModelError) -> bool:
    """Return whether a failure that may be a tool's will come again, as all but some 5xx do."""
    said = said_in(error)
    return isinstance(error, Refusal) or bool(_DEFINITIONS.search(said) or _TEMPLATE.search(said))


def _places(error: ModelError) -> list[str]:
    """Return the places in the list of tools that a refusal names: in its sentence, as a path, or as its `param`."""
    said = said_in(error)
    found = _FUNCTION_PLACE.findall(said) or _PLACE.findall(said) or _PATH.findall(_whole(error))
    return found or (_PLACE.findall(error.details.code) if error.details is not None else [])


def said_in(error: ModelError) -> str:
    """Return the provider's own sentence, or all of its answer if it has none."""
    details = error.details
    return (details.message if details is not None and details.message else _whole(error))[:MAX_SEARCHED]


def _whole(error: ModelError) -> str:
    return error.reason[:MAX_SEARCHED] if isinstance(error, Refusal) else ""


def _names(said: str, name: str) -> bool:
    quoted = rf"['\"`“]{re.escape(name)}['\"`”]"
    called = rf"(?:function|tool)s?(?: named)? {re.escape(name)}(?![\w-])"
    return re.search(f"{quoted}|{called}", said) is not None
