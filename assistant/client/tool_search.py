"""Tool search: instead of a large catalogue, the model is offered a search tool and the tools that it has found."""

from __future__ import annotations

import logging
import math
import re
import unicodedata
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise

from assistant.core.toolcalls.protocols import Admission, Toolset
from assistant.core.values.messages import ToolCall
from assistant.core.values.untrusted import NOTHING_READ, ReadText
from assistant.toolkit import Tool, ToolContext
from assistant.toolkit.logs import log_operation

logger = logging.getLogger(__name__)

SEARCH_TOOL = "search_tools"
# Up to this many tools all are offered, without a search tool.
OFFERED_AT_ONCE = 30
# Scripts without spaces between words, or with words attached to others: Chinese, Japanese, Korean, Thai, Khmer, ...
_UNSPACED = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7a3\U00020000-\U0003ffff"
_WORD = re.compile(rf"[{_UNSPACED}]+|[^\W\d_{_UNSPACED}]+|\d+")
_LETTER = re.compile(f"[{_UNSPACED}]")
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_ENDINGS = ("ings", "ing", "ies", "es", "ed", "s", "y")
# Words with letters beyond ASCII are compared by this many letters: the rest is mostly inflection.
_STEM = 5


class SearchingToolset:
    """Wraps a toolset for one run; once it is large, only tools that were searched for are offered.

    The wrapped toolset still decides which calls are allowed: search gives no permission.

    Args:
        threshold: up to this many tools all are offered, without a search tool.
        limit: how many tools one search finds.
        always: names of tools that are always offered.
    """

    def __init__(
        self, toolset: Toolset, *, threshold: int = OFFERED_AT_ONCE, limit: int = 6, always: Sequence[str] = ()
    ) -> None:
        self._toolset = toolset
        self._threshold = threshold
        self._limit = limit
        self._shown: set[str] = set(always)
        self._catalogue: Sequence[Tool] = ()
        self._search: Tool | None = None

    async def offered(self) -> Sequence[Tool]:
        self._catalogue = await self._toolset.offered()
        if len(self._catalogue) <= self._threshold:
            self._search = None
            return self._catalogue
        if self._search is None:
            self._search = self._search_tool()
        # A tool that the provider runs is never called by its name here.
        shown = [tool for tool in self._catalogue if tool.name in self._shown or tool.is_provider_side]
        return [self._search, *shown]

    async def admit(self, calls: Sequence[ToolCall], read: ReadText = NOTHING_READ) -> Sequence[Admission]:
        admissions = await self._toolset.admit(calls, read)
        search = self._search
        return [
            Admission(search, rule="Finds tools.") if search and call.name == search.name else admission
            for call, admission in zip(calls, admissions, strict=True)
        ]

    def _search_tool(self) -> Tool:
        name, taken = SEARCH_TOOL, {tool.name for tool in self._catalogue}
        while name in taken:
            name += "_"
        return Tool.from_function(
            self._find,
            name=name,
            description="Find tools by what they do. Only tools found here can be called; search before you give up.",
            read_only=True,
        )

    async def _find(self, query: str, context: ToolContext) -> str:
        found = find_tools(query, self._catalogue, limit=self._limit)
        log_operation(logger, context, "A search found %d of %d tools", len(found), len(self._catalogue))
        if not found:
            return "No tool does that. Try other words."
        self._shown.update(tool.name for tool in found)
        lines = "\n".join(f"- {tool.name}: {tool.description}" for tool in found)
        return f"These tools can be called from now on:\n{lines}"


def find_tools(query: str, tools: Sequence[Tool], *, limit: int = 6) -> list[Tool]:
    """Return the tools whose names, descriptions and parameters match the query, best first; rare words weigh more."""
    documents = [_words_of(tool) for tool in tools]
    counts = Counter(word for document in documents for word in document)
    scores = [
        sum(document[word] * math.log(1 + len(tools) / counts[word]) for word in set(_words(query)) & set(document))
        for document in documents
    ]
    ranked = sorted(range(len(tools)), key=lambda index: -scores[index])
    return [tools[index] for index in ranked[:limit] if scores[index] > 0]


def _words_of(tool: Tool) -> dict[str, float]:
    """Return the words of a tool's name, description and parameters, with their weights."""
    weights: dict[str, float] = {}
    sources = ((" ".join(tool.parameters.get("properties", {})), 0.5), (tool.description, 1.0), (tool.name, 2.0))
    for text, weight in sources:
        weights.update(dict.fromkeys(_words(text), weight))
        # A query may consist of one character.
        weights.update(dict.fromkeys(_LETTER.findall(_folded(text)), weight))
    return weights


def _words(text: str) -> list[str]:
    words: list[str] = []
    for word in _WORD.findall(_folded(_CAMEL.sub(" ", text))):
        if len(word) > 1 and _LETTER.match(word):
            words += map("".join, pairwise(word))
        else:
            words.append(_stem(word))
    return words


def _folded(text: str) -> str:
    """Return the text in lower case and without diacritics, which people often leave out."""
    if text.isascii():
        return text.lower()
    split = unicodedata.normalize("NFKD", text.casefold())
    return unicodedata.normalize("NFC", "".join(letter for letter in split if unicodedata.category(letter)[0] != "M"))


def _stem(word: str) -> str:
    if not word.isascii():
        return word[:_STEM]
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            return word.removesuffix(ending)
    return word
