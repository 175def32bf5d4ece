"""Tool search: of a large catalogue the model sees one tool that finds the others, and those it found."""

from __future__ import annotations

import logging
import math
import re
from collections import Counter
from collections.abc import Sequence
from functools import cached_property

from assistant.core.messages import ToolCall
from assistant.core.toolbox import Admission, Toolset
from tools import Tool, ToolContext
from tools.logs import note

logger = logging.getLogger(__name__)

SEARCH_TOOL = "search_tools"
_WORD = re.compile(r"[a-z]+|\d+")
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_ENDINGS = ("ings", "ing", "ies", "es", "ed", "s", "y")


class SearchingToolset:
    """Another toolset, of which only what was found is offered once it is large; for one run.

    What may be called is for the other one to say: search opens no door.

    Args:
        threshold: up to this many tools all are offered, and there is nothing to search.
        most: how many tools one search finds.
        always: names of tools that are offered anyway.
    """

    def __init__(self, toolset: Toolset, *, threshold: int = 30, most: int = 6, always: Sequence[str] = ()) -> None:
        self._toolset = toolset
        self._threshold = threshold
        self._most = most
        self._shown: set[str] = set(always)
        self._catalogue: Sequence[Tool] = ()

    @cached_property
    def _search(self) -> Tool:
        # Its schema takes a millisecond to build, and most assistants have too few tools to search.
        return Tool.from_function(
            self._find,
            name=SEARCH_TOOL,
            description="Find tools by what they do. Only tools found here can be called; search before you give up.",
            read_only=True,
        )

    async def offered(self) -> Sequence[Tool]:
        self._catalogue = await self._toolset.offered()
        if len(self._catalogue) <= self._threshold:
            return self._catalogue
        return [self._search, *(tool for tool in self._catalogue if tool.name in self._shown)]

    async def admit(self, calls: Sequence[ToolCall]) -> Sequence[Admission]:
        admissions = await self._toolset.admit(calls)
        return [
            Admission(self._search, rule="Finds tools.") if call.name == SEARCH_TOOL else admission
            for call, admission in zip(calls, admissions, strict=True)
        ]

    async def _find(self, query: str, context: ToolContext) -> str:
        found = find_tools(query, self._catalogue, most=self._most)
        note(logger, context, "A search found %d of %d tools", len(found), len(self._catalogue))
        if not found:
            return "No tool does that. Try other words."
        self._shown.update(tool.name for tool in found)
        lines = "\n".join(f"- {tool.name}: {tool.description}" for tool in found)
        return f"These tools can be called from now on:\n{lines}"


def find_tools(query: str, tools: Sequence[Tool], *, most: int = 6) -> list[Tool]:
    """The tools whose names, descriptions and parameters fit the words best, best first; rare words weigh more."""
    documents = [_words_of(tool) for tool in tools]
    in_how_many = Counter(word for document in documents for word in document)
    scores = [
        sum(
            document[word] * math.log(1 + len(tools) / in_how_many[word]) for word in set(_words(query)) & set(document)
        )
        for document in documents
    ]
    ranked = sorted(range(len(tools)), key=lambda place: -scores[place])
    return [tools[place] for place in ranked[:most] if scores[place] > 0]


def _words_of(tool: Tool) -> dict[str, float]:
    """A tool's words with their weights."""
    weights: dict[str, float] = {}
    sources = ((" ".join(tool.parameters.get("properties", {})), 0.5), (tool.description, 1.0), (tool.name, 2.0))
    for text, weight in sources:
        weights.update(dict.fromkeys(_words(text), weight))
    return weights


def _words(text: str) -> list[str]:
    return [_stem(word) for word in _WORD.findall(_CAMEL.sub(" ", text).lower())]


def _stem(word: str) -> str:
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            return word.removesuffix(ending)
    return word
