"""What a small model is sent: a short list of tools in a fixed order, and worked examples of those that fit.

A small model on a processor reads some seventy tokens a second, and a server keeps what it has read. So what is the
same for many assistants comes first, and what depends on the question last.
"""

from __future__ import annotations

import inspect
import json
import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import takewhile
from typing import Any

from assistant.core.llm.protocol import ModelRequest
from assistant.core.values.history_window import estimate_tokens
from assistant.core.values.messages import Message, ToolCall
from assistant.toolkit import Example, ExampleStep, Tool

# Tokens of the tools' list, about: where it would be longer, the tools that fit the question best are in it.
MAX_TOOLS_TOKENS = 640
# Tools with a worked example: those that answer most questions, and for each of the last questions those that fit it.
GENERAL_EXAMPLES = 2
FITTING_EXAMPLES = 2
QUESTIONS = 2
# Characters of a question that are compared with the tools.
MAX_QUESTION = 2_000
# Below this share of what a word of one tool's name counts, a tool has only words in common that many tools have.
MIN_FIT = 0.4

# Turns without a call, which show that not every message needs a tool. They have most effect at the beginning and end.
GREETING = (Message("user", "hi there"), Message("assistant", "Hello! How can I help you?"))
SMALL_TALK = (
    Message("user", "thanks! what is a haiku?"),
    Message("assistant", "You're welcome! It is a Japanese poem of three lines."),
)

_WORDS = re.compile(r"#|%|[^\W\d_]+")
_NUMBER = re.compile(r"\d[\d.,:]*")
_ENDINGS = ("ies", "ing", "ed", "es", "s")
# Words that say nothing about which tool is meant: verbs with which tools' names begin are among them.
_COMMON = frozenset(
    (
        "a", "an", "and", "are", "at", "be", "can", "do", "does", "find", "for", "get", "give", "has", "have", "how",
        "i", "in", "is", "it", "like", "list", "me", "my", "of", "on", "or", "s", "set", "show", "take", "tell", "the",
        "to", "us", "we", "what", "who", "with", "you",
    )
)  # fmt: skip
# How much a word counts, by where a tool has it.
_IN_NAME = 3.0
_IN_EXAMPLE = 2.0
_IN_DESCRIPTION = 1.5
_IN_PARAMETER = 1.0


def brief(request: ModelRequest) -> ModelRequest:
    """Return the request as a small model is sent it: `listed_tools`, and `example_turns` after the system messages."""
    tools = listed_tools(request)
    start = next((i for i, message in enumerate(request.messages) if message.role != "system"), len(request.messages))
    messages = [*request.messages[:start], *example_turns(request, tools), *request.messages[start:]]
    return replace(request, tools=tools, messages=messages)


def listed_tools(request: ModelRequest) -> list[Tool]:
    """Return the tools that are sent: all, or those that fit the last questions best where they are too many.

    Shipped ones come first, which most assistants have. Those that the conversation has called stay, and so does the
    beginning: a server that has read it for one question has read it for all.
    """
    ordered = sorted(request.tools, key=lambda tool: not _is_shipped(tool))
    room = MAX_TOOLS_TOKENS
    if sum(map(_tokens, ordered)) <= room:
        return ordered
    named = {*_named(request), *_beginning(ordered)}
    fits = _fits(" ".join(reversed(_questions(request.messages))), ordered)
    kept: set[int] = set()
    for index in sorted(fits, key=lambda index: (ordered[index].name not in named, -fits[index])):
        tokens = _tokens(ordered[index])
        if tokens <= room or ordered[index].name in named:
            kept.add(index)
            room -= tokens
    return [ordered[index] for index in sorted(kept)]


def example_turns(request: ModelRequest, tools: Sequence[Tool]) -> list[Message]:
    """Return worked examples of the tools that answer most questions, then of those that fit the last questions.

    Of a tool's examples the one that is most like the question is shown. One that first calls a tool that is not
    offered is left out.
    """
    names = {tool.name for tool in tools}
    chosen: dict[tuple[str, str], tuple[Tool, Example]] = {}
    for tool, question in _shown(tools, _questions(request.messages)):
        possible = [example for example in tool.examples if all(step.tool in names for step in example.before)]
        if possible:
            asked = _words(question[:MAX_QUESTION])
            example = max(possible, key=lambda one: len(asked & _words(one.user)))
            chosen.setdefault((tool.name, example.user), (tool, example))
    return worked_turns(chosen.values())


def _shown(tools: Sequence[Tool], questions: Sequence[str]) -> Iterator[tuple[Tool, str]]:
    """Yield the tools of which an example is shown, with the question that it should be like."""
    yield from ((tool, "") for tool in _general(tools))
    yield from ((tool, question) for question in questions for tool in fitting(question, tools))


def fitting(question: str, tools: Sequence[Tool], *, count: int = FITTING_EXAMPLES) -> list[Tool]:
    """Return the tools that have most words in common with a question, the best first; rare words count more."""
    ranked = sorted(_fits(question, tools).items(), key=lambda entry: -entry[1])
    least = MIN_FIT * _IN_NAME * math.log(1 + len(tools))
    return [tools[index] for index, fit in ranked[:count] if fit >= least]


def _fits(question: str, tools: Sequence[Tool]) -> dict[int, float]:
    """Return how well each tool fits, by its place in the list, in the list's order."""
    asked = _words(question[:MAX_QUESTION])
    known = [_words_of(tool) for tool in tools]
    having = Counter(word for words in known for word in words)
    rarity = {word: math.log(1 + len(tools) / having[word]) for word in asked if word in having}
    fits = (sum(words.get(word, 0.0) * weight for word, weight in rarity.items()) for words in known)
    return dict(enumerate(fits))


def _questions(messages: Sequence[Message]) -> list[str]:
    """Return the last questions, the earlier one first, so that a conversation's examples are added at their end."""
    return [message.content for message in messages if message.role == "user"][-QUESTIONS:]


def _named(request: ModelRequest) -> Iterable[str]:
    """Yield the tools that must stay: those called in the conversation, and the one that must be called now."""
    yield from (call.name for message in request.messages for call in message.tool_calls)
    if request.tool_choice:
        yield request.tool_choice


def _beginning(ordered: Sequence[Tool]) -> Iterator[str]:
    """Yield the shipped tools up to the last that takes a free text, and its neighbours: reading on after searching."""
    shipped = list(takewhile(_is_shipped, ordered))
    modules = {_module(tool) for tool in _general(shipped)}
    last = max((place for place, tool in enumerate(shipped) if _module(tool) in modules), default=-1)
    yield from (tool.name for tool in shipped[: last + 1])


def _is_shipped(tool: Tool) -> bool:
    return _module(tool).startswith("assistant.")


def _module(tool: Tool) -> str:
    return getattr(inspect.unwrap(tool.handler), "__module__", "") if tool.handler else ""


def _general(tools: Sequence[Tool]) -> list[Tool]:
    """Return the tools that take a free text, such as a search: a question that names no tool is one for them."""
    return [tool for tool in tools if tool.examples and takes_free_text(tool.parameters)][:GENERAL_EXAMPLES]


def takes_free_text(parameters: Mapping[str, Any]) -> bool:
    """Return whether the one required parameter of these is any text, or a list of texts."""
    required = parameters.get("required", ())
    schemas = [parameters.get("properties", {}).get(name, {}) for name in required]
    texts = [schema.get("items", {}) if schema.get("type") == "array" else schema for schema in schemas]
    return len(texts) == 1 and texts[0].get("type") == "string" and not {"enum", "format"} & texts[0].keys()


@lru_cache(maxsize=1024)
def _tokens(tool: Tool) -> int:
    """Return how many tokens a tool takes in the list, about: its texts, and the names of its parameters."""
    parameters = tool.parameters.get("properties", {})
    texts = [f"{name} {schema.get('description', '')}" for name, schema in parameters.items()]
    # The type of each parameter, whether it is required, and the marks between them.
    return estimate_tokens(f"{tool.name} {tool.description} {' '.join(texts)}") + 6 * len(texts) + 4


@lru_cache(maxsize=1024)
def _words_of(tool: Tool) -> dict[str, float]:
    """Return the words of a tool with how much each counts."""
    found: dict[str, float] = {}
    parameters = tool.parameters.get("properties", {}).values()
    texts = [
        *((str(schema.get("description", "")), _IN_PARAMETER) for schema in parameters),
        *((str(value), _IN_DESCRIPTION) for schema in parameters for value in _choices(schema)),
        (str(tool.description), _IN_DESCRIPTION),
        *((example.user, _IN_EXAMPLE) for example in tool.examples),
        (tool.name.replace("_", " "), _IN_NAME),
    ]
    for text, weight in texts:
        for word in _words(text):
            found[word] = max(weight, found.get(word, 0.0))
    return found


def _choices(schema: Mapping[str, Any]) -> Iterable[Any]:
    return (value for one in (schema, *schema.get("anyOf", ())) for value in one.get("enum", ()))


def _words(text: str) -> set[str]:
    """Return the words of a text without common ones and endings; any number is "#"."""
    return {_stem(word) for word in _WORDS.findall(_NUMBER.sub("#", text.lower()))} - _COMMON


def _stem(word: str) -> str:
    ending = next((one for one in _ENDINGS if word.endswith(one) and len(word) > len(one) + 3), "")
    return word.removesuffix(ending)


def worked_turns(examples: Iterable[tuple[Tool, Example]]) -> list[Message]:
    """Return a conversation in which tools are used as in these examples; empty if there are none."""
    turns: list[Message] = []
    for tool, example in examples:
        turns.extend(_turn(tool, example, f"example-{len(turns)}"))
    return [*GREETING, *turns, *SMALL_TALK] if turns else []


def _turn(tool: Tool, example: Example, prefix: str) -> Iterable[Message]:
    yield Message("user", example.user)
    last = ExampleStep(tool.name, example.arguments, example.result or example.answer or "Done")
    for number, step in enumerate([*example.before, last]):
        call = ToolCall(f"{prefix}-{number}", step.tool, json.dumps(dict(step.arguments), ensure_ascii=False))
        yield Message("assistant", tool_calls=(call,))
        yield Message("tool", step.result, tool_call_id=call.id)
    yield Message("assistant", example.answer or "Done.")
