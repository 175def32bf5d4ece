"""Searches of documents: one is made if the model makes none, and none looks for what only a worked example says.

A small model sometimes answers from memory what documents would tell, and copies wordings of the example that shows it
how to search. Where its first search is not sure to have found anything, a second one is made in other words.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import takewhile
from typing import Any
from uuid import uuid4

from assistant.core.llm.protocol import ModelRequest
from assistant.core.values.messages import Message, Reply, ToolCall
from assistant.core.values.untrusted import unfenced
from assistant.providers.embedded.ready_answers import NOTHING, WEAK
from assistant.providers.embedded.small_models import fitting, takes_free_text
from assistant.toolkit import Tool

# Letters of a word that says what a text is about, and how many such words of an example make a wording the example's.
MIN_LETTERS = 4
MIN_SHOWN = 2
# Of one search: wordings, and characters of one.
MAX_WORDINGS = 4
MAX_WORDING = 500
# How the ids of searches begin that were made for the model.
_OWN_ID = "search-"
_WORDS = re.compile(r"\w+")
# What stands between markers before a question, such as what its page says.
_BEFORE = re.compile(r"\A(?:\[([0-9a-f]{8}): [^\]\n]*\]\n.*?\n\[\1\]\n\n)", re.DOTALL)


def needed_search(request: ModelRequest) -> ToolCall | None:
    """Return the search that must be made if the model answers without a call: of a question that fits it best.

    None if something was looked up since the question, or if no tool that takes a free text fits it.
    """
    last = request.messages[-1] if request.messages else None
    if last is None or last.role != "user" or request.response_format or request.tool_choice == "none":
        return None
    best = next(iter(fitting(last.content, request.tools)), None)
    if best is None or not _searches(best):
        return None
    arguments = _arguments(best, best.examples[0].arguments, [_asked(last.content)])
    return ToolCall(f"{_OWN_ID}{uuid4().hex}", best.name, arguments)


def searched(reply: Reply, request: ModelRequest, search: ToolCall | None) -> Reply:
    """Return the reply with this search in place of an answer, and with what searches took from examples left out."""
    if not reply.tool_calls:
        return replace(reply, text="", tool_calls=(search,), finish_reason="tool_calls") if search else reply
    searches = {tool.name: tool for tool in request.tools if _searches(tool)}
    question = next((_asked(one.content) for one in reversed(request.messages) if one.role == "user"), "")
    calls = (_own(call, searches[call.name], question) if call.name in searches else call for call in reply.tool_calls)
    return replace(reply, tool_calls=tuple(calls))


def unsure_search(request: ModelRequest) -> tuple[ToolCall, str] | None:
    """Return the question's only call, with the question, if it is a search that is not sure to have found anything."""
    since = list(takewhile(lambda message: message.role != "user", reversed(request.messages)))
    asked = request.messages[: len(request.messages) - len(since)]
    if len(since) != 2 or not asked or request.response_format or request.tool_choice == "none":
        return None
    result, calling = since
    # Passages of documents that are not trusted stand between markers.
    note = _read(unfenced(result.content)).get("note")
    is_unsure = isinstance(note, str) and note.startswith((NOTHING, WEAK))
    call = next(iter(calling.tool_calls), None)
    if not is_unsure or call is None or call.name not in {tool.name for tool in request.tools if _searches(tool)}:
        return None
    return call, _asked(asked[-1].content)


def reworded(call: ToolCall, request: ModelRequest, wordings: Sequence[str]) -> ToolCall:
    """Return a search with these wordings, and with what else a call of it has."""
    tool = next(tool for tool in request.tools if tool.name == call.name)
    return ToolCall(f"{_OWN_ID}{uuid4().hex}", call.name, _arguments(tool, _read(call.arguments), wordings))


def without_suppositions(messages: Sequence[Message], tools: Sequence[Tool]) -> list[Message]:
    """Return the messages in which searches that were made for the model look for the question alone.

    What the model has supposed is no source: it would answer from it.
    """
    searches = {tool.name: tool for tool in tools if _searches(tool)}
    return [
        replace(message, tool_calls=tuple(_shown(call, searches) for call in message.tool_calls))
        if any(call.id.startswith(_OWN_ID) for call in message.tool_calls)
        else message
        for message in messages
    ]


def _shown(call: ToolCall, searches: Mapping[str, Tool]) -> ToolCall:
    if call.name not in searches or not call.id.startswith(_OWN_ID):
        return call
    arguments = _read(call.arguments)
    return replace(call, arguments=_arguments(searches[call.name], arguments, list(_texts(arguments))[:1]))


def _asked(content: str) -> str:
    """Return what somebody has typed of a message."""
    while before := _BEFORE.match(content):
        content = content[before.end() :]
    return content


def _searches(tool: Tool) -> bool:
    """Whether the tool takes wordings alone, as a search of documents does."""
    if not tool.read_only or not tool.examples or not takes_free_text(tool.parameters):
        return False
    return bool(tool.parameters["properties"][tool.parameters["required"][0]].get("type") == "array")


def _arguments(tool: Tool, others: Mapping[str, Any], wordings: Sequence[str]) -> str:
    kept = [wording[:MAX_WORDING] for wording in wordings[:MAX_WORDINGS]]
    return json.dumps({**others, tool.parameters["required"][0]: kept}, ensure_ascii=False)


def _own(call: ToolCall, tool: Tool, question: str) -> ToolCall:
    """Return the call; if its wordings are an example's, with the question and what else they have."""
    arguments = _read(call.arguments)
    wordings = list(_texts(arguments))
    said = _words(f"{question} {tool.description}")
    shown = {word for example in tool.examples for text in _texts(example.arguments) for word in _words(text)} - said
    if not question or all(len(_words(text) & shown) < MIN_SHOWN for text in wordings):
        return call
    own = (" ".join(word for word in _WORDS.findall(text) if word.lower() not in shown) for text in wordings)
    # Of a wording that was the example's there is hardly a word left.
    return replace(call, arguments=_arguments(tool, arguments, [question, *(text for text in own if " " in text)]))


def _read(arguments: str) -> Mapping[str, Any]:
    try:
        read = json.loads(arguments)
    except ValueError:
        return {}
    return read if isinstance(read, dict) else {}


def _texts(arguments: Mapping[str, Any]) -> Iterator[str]:
    for value in arguments.values():
        yield from (text for text in (value if isinstance(value, list) else [value]) if isinstance(text, str))


def _words(text: str) -> set[str]:
    """Return the long words, which are those that say what a text is about."""
    return {word.lower() for word in _WORDS.findall(text) if len(word) >= MIN_LETTERS}
