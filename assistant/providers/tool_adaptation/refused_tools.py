"""Repeats a request without the tool that a provider refuses, and remembers it.

A provider that does not take one tool refuses the whole request, each time it is offered. Which one it is says the
refusal, by name or position, or a search by halves.
"""

from __future__ import annotations

import hashlib
import logging
import re
from collections.abc import Awaitable, Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from cachetools import TTLCache

from assistant.core.llm.protocol import FailureDetails, ModelRequest
from assistant.core.llm.usage_estimate import estimate_usage, usage_of
from assistant.core.values.messages import Reply, Usage
from assistant.providers.failure_masking import masked
from assistant.providers.openai_wire.refusals import Refusal
from assistant.providers.tool_adaptation.adapted_tool import digest_of
from assistant.toolkit import Tool

if TYPE_CHECKING:
    import httpx2

logger = logging.getLogger(__name__)

# How often a request that was refused is sent again.
MAX_REQUESTS = 4
MAX_SEARCHED = 4_000
MAX_REASON = 300
# What was refused, for an hour: by the kind of model, the address and a hash of the key, since what one tenant is
# refused says nothing about another's requests.
_refused: TTLCache[tuple[str, ...], frozenset[str]] = TTLCache(1_000, ttl=3_600)
# How providers name a tool's place. Google's functions are within one tool, which its refusals name first.
_FUNCTION_PLACE = re.compile(r"function_?declarations\s*[\[.]\s*(\d+)", re.IGNORECASE)
_PLACE = re.compile(r"\b(?:tools|functions)\s*[\[.]\s*(\d+)", re.IGNORECASE)
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
# Refusals without a reason.
_VAGUE = re.compile(r"invalid argument|^bad request|invalid request|provider returned error", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class RefusedTool:
    """A tool that a provider refused.

    Attributes:
        digest: of what was sent of it.
        reason: the provider's, without keys and prompts.
        is_certain: whether it was found; else it is one of several that were left out together.
    """

    name: str
    digest: str
    reason: str
    is_certain: bool


class RefusedTools:
    """What one provider refuses.

    Args:
        place: the kind of model and the address.
        label: the provider's name, for the log.
        key: its key, which must not be told.
        known: digests of tools that it has refused before.
        on_refused: called with each tool that it refuses now.
    """

    def __init__(
        self,
        place: tuple[str, ...],
        *,
        label: str,
        key: str,
        known: Collection[str] = (),
        on_refused: Callable[[RefusedTool], None] | None = None,
    ) -> None:
        self._place = (*place, hashlib.sha256(key.encode(errors="surrogatepass")).hexdigest())
        self._label = label
        self._key = key
        self._known = frozenset(known)
        self._on_refused = on_refused

    def begin(self, send: Callable[[ModelRequest], Awaitable[httpx2.Response]], request: ModelRequest) -> Asking:
        """Return what sends a request."""
        refused = self._known | _refused.get(self._place, frozenset())
        if refused:
            request = _without(request, [tool for tool in request.tools if digest_of(tool) in refused])
        return Asking(self, send, request)

    def note(self, tools: Iterable[Tool], refusal: Refusal, request: ModelRequest, *, is_certain: bool) -> None:
        """Remember tools that were refused, and tell of them."""
        details = masked(
            refusal.details or FailureDetails(message=refusal.reason), request, keys=(self._key,) if self._key else ()
        )
        reason = str(details)[:MAX_REASON]
        for tool in tools:
            found = RefusedTool(tool.name, digest_of(tool), reason, is_certain)
            _refused[self._place] = _refused.get(self._place, frozenset()) | {found.digest}
            logger.warning("%s refuses the tool %s, which is not offered any more: %s", self._label, tool.name, reason)
            if self._on_refused is not None:
                self._on_refused(found)


class Asking:
    """One request, which is repeated without tools that are refused.

    Attributes:
        request: the one that was answered.
        spent: what requests used whose answers were not read.
    """

    def __init__(
        self,
        refused: RefusedTools,
        send: Callable[[ModelRequest], Awaitable[httpx2.Response]],
        request: ModelRequest,
    ) -> None:
        self.request = request
        self.spent = Usage()
        self._refused = refused
        self._send = send
        self._left = MAX_REQUESTS

    async def response(self) -> httpx2.Response:
        """Send the request and return the response, whose body has not been read.

        Raises:
            Refusal: it was refused for another reason, or in spite of all that was left out.
        """
        try:
            return await self._send(self.request)
        except Refusal as refusal:
            if not self.request.tools or not _may_be_a_tool(refusal, self.request.tools):
                raise
            latest = refusal
        while self._left and (found := named_tools(_said(latest), self.request.tools)):
            # At once, so that the next turn goes on from here though this one should come to nothing.
            self._refused.note(found, latest, self.request, is_certain=True)
            # The last request must not meet one more that would be refused.
            unproven = [tool for tool in self.request.tools if not tool.is_provider_side] if self._left == 1 else []
            self.request = _without(self.request, [*found, *unproven])
            try:
                return await self._again()
            except Refusal as refusal:
                if not _may_be_a_tool(refusal, self.request.tools):
                    raise
                latest = refusal
        return await self._halved(latest)

    async def _halved(self, refusal: Refusal) -> httpx2.Response:
        """Search the tool that is refused among those that are left."""
        whole = self.request
        suspects = sorted((tool for tool in whole.tools if not tool.is_provider_side), key=_innocence)
        # Set aside, though no answer has shown that they are taken.
        doubtful: list[Tool] = []
        while self._left and suspects:
            is_last = self._left == 1
            left_out = [*suspects, *doubtful] if is_last else suspects[: -(-len(suspects) // 2)]
            self.request = _without(whole, left_out)
            try:
                response = await self._again()
            except Refusal as again:
                if is_last or not _may_be_a_tool(again, self.request.tools):
                    raise
                doubtful += left_out
                suspects = suspects[len(left_out) :]
                continue
            if is_last or len(left_out) == 1:
                self._refused.note(left_out, refusal, self.request, is_certain=len(left_out) == 1)
                return response
            await response.aclose()
            self.spent += estimate_usage(self.request, 0)
            suspects = left_out
            doubtful = []
        raise refusal

    def counted(self, reply: Reply) -> Reply:
        """Return the reply with the usage of requests whose answers were not read."""
        if not self.spent.total_tokens:
            return reply
        return replace(reply, usage=usage_of(self.request, reply) + self.spent)

    async def _again(self) -> httpx2.Response:
        self._left -= 1
        return await self._send(self.request)


def named_tools(said: str, tools: Sequence[Tool]) -> list[Tool]:
    """Return the tools that a refusal names, by their names or their places in the request."""
    places = _FUNCTION_PLACE.findall(said) or _PLACE.findall(said)
    by_place = [tools[int(place)] for place in dict.fromkeys(places) if len(place) < 4 and int(place) < len(tools)]
    by_name = [tool for tool in tools if _names(said, tool.name)]
    # A name is what the provider means; it may count places otherwise.
    return by_name or by_place


def _names(said: str, name: str) -> bool:
    quoted = rf"['\"`“]{re.escape(name)}['\"`”]"
    called = rf"(?:function|tool)s?(?: named)? {re.escape(name)}(?![\w-])"
    return re.search(f"{quoted}|{called}", said) is not None


def _said(refusal: Refusal) -> str:
    """Return the provider's own sentence."""
    details = refusal.details
    return (details.message if details is not None and details.message else refusal.reason)[:MAX_SEARCHED]


def _may_be_a_tool(refusal: Refusal, tools: Sequence[Tool]) -> bool:
    """Return whether a refusal can come from the definition of a tool."""
    said = _said(refusal)
    if refusal.kind:
        return False  # which the turn handles
    if _FUNCTION_PLACE.search(said) or _PLACE.search(said):
        return True
    if _ABOUT_OTHERS.search(said):
        return False
    return bool(_ABOUT_TOOLS.search(said) or (_VAGUE.search(said) and any(_innocence(tool) == 0 for tool in tools)))


def _innocence(tool: Tool) -> int:
    """Return how unlikely it is that a tool is refused: one of somebody else's is refused first."""
    return 0 if tool.untrusted or tool.is_client_side else 1


def _without(request: ModelRequest, tools: Iterable[Tool]) -> ModelRequest:
    names = {tool.name for tool in tools}
    if not names:
        return request
    choice = None if request.tool_choice in names else request.tool_choice
    kept = [tool for tool in request.tools if tool.name not in names]
    return replace(request, tools=kept, tool_choice=choice if kept else None)
