"""Repeats a request without the tool that a provider refuses, and remembers it.

A provider that does not take one tool refuses the whole request, each time it is offered. Which one it is says the
refusal, by name or position, or a search.
"""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Awaitable, Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from cachetools import TTLCache

from assistant.core.llm.protocol import FailureDetails, ModelError, ModelRequest
from assistant.core.llm.usage_estimate import estimate_usage, usage_of
from assistant.core.values.messages import Reply, Usage
from assistant.providers.failure_masking import masked
from assistant.providers.openai_wire.refusals import Refusal
from assistant.providers.tool_adaptation.adapted_tool import digest_of
from assistant.providers.tool_adaptation.refusal_sentences import may_be_a_tool, named_tools, said_in
from assistant.providers.tool_adaptation.suspicion import by_suspicion, conspicuous
from assistant.toolkit import Tool
from assistant.toolkit.calls.gate import HandedIn, ask

if TYPE_CHECKING:
    import httpx2

logger = logging.getLogger(__name__)

# How often a request that was refused is sent again.
MAX_REQUESTS = 4
MAX_REASON = 300
NOT_KNOWN = "it is not known yet whether the provider takes them"
# Requests that assume that only one tool is refused, and are refused.
MAX_MISSES = 2
# What was refused, for an hour: by the kind of model, the address and a hash of the key, since what one tenant is
# refused says nothing about another's requests. The same of the groups that have a tool which is refused, and by the
# model too of what was part of an accepted request.
_refused: TTLCache[tuple[str, ...], frozenset[str]] = TTLCache(1_000, ttl=3_600)
_suspected: TTLCache[tuple[str, ...], frozenset[str]] = TTLCache(1_000, ttl=3_600)
_accepted: TTLCache[tuple[str, ...], frozenset[str]] = TTLCache(1_000, ttl=3_600)
# Of one model; more are forgotten at once.
MAX_ACCEPTED = 1_000


@dataclass(frozen=True, slots=True)
class RefusedTool:
    """A tool that a provider refused.

    Attributes:
        digest: of what was sent of it.
        reason: the provider's, without keys and prompts.
        is_certain: whether it was found; else it is one of several that one request was answered without, among which
            the next one goes on searching, or the failure may have had another cause.
    """

    name: str
    digest: str
    reason: str
    is_certain: bool


OnRefused = Callable[[RefusedTool], Awaitable[None] | None]


class RefusedTools:
    """What one provider refuses.

    Args:
        place: the kind of model and the address.
        model: its name there.
        label: the provider's name, for the log.
        key: its key, which must not be told.
        known: digests of tools that it has refused before.
        on_refused: called with each tool that it refuses now, by way of the gate: async on the event loop, else in a
            thread. What it raises is logged.
    """

    def __init__(
        self,
        place: tuple[str, ...],
        *,
        model: str,
        label: str,
        key: str,
        known: Collection[str] = (),
        on_refused: OnRefused | None = None,
    ) -> None:
        self._place = (*place, hashlib.sha256(key.encode(errors="surrogatepass")).hexdigest())
        self._model = model
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

    def accepted(self, tools: Iterable[Tool]) -> list[Tool]:
        """Return those of the tools that were part of a request that this model has accepted."""
        known = _accepted.get((*self._place, self._model), frozenset())
        return [tool for tool in tools if tool.is_provider_side or digest_of(tool) in known]

    def accept(self, request: ModelRequest) -> None:
        """Remember the tools of a request that was accepted."""
        place = (*self._place, self._model)
        known = _accepted.get(place, frozenset())
        more = {digest_of(tool) for tool in request.tools}
        if not more <= known:
            _accepted[place] = known | more if len(known) < MAX_ACCEPTED else frozenset(more)

    async def note(self, tools: Iterable[Tool], error: ModelError, request: ModelRequest, *, is_certain: bool) -> None:
        """Remember tools that were refused, and tell of them."""
        details = masked(
            error.details or FailureDetails(message=said_in(error)), request, keys=(self._key,) if self._key else ()
        )
        reason = str(details)[:MAX_REASON]
        for tool in tools:
            found = RefusedTool(tool.name, digest_of(tool), reason, is_certain)
            if is_certain:
                if found.digest in _suspected.get(self._place, ()):  # the others of its group may be taken
                    del _suspected[self._place]
                _refused[self._place] = _refused.get(self._place, frozenset()) | {found.digest}
                sentence = "%s refuses the tool %s, which is not offered any more: %s"
            else:
                sentence = "%s may refuse the tool %s, which one answer was made without: %s"
            logger.warning(sentence, self._label, tool.name, reason)
            await self._tell(found)

    async def _tell(self, found: RefusedTool) -> None:
        if self._on_refused is None:
            return
        answer = await ask(HandedIn(self._on_refused, (found,), "on_refused_tool", self._label))
        if answer.problem:
            sentence = "%s: its on_refused_tool (%s) %s"
            logger.error(sentence, self._label, answer.asked.function_name, answer.problem, exc_info=answer.error)

    async def suspect(self, tools: Collection[Tool], refusal: Refusal, request: ModelRequest) -> None:
        """Remember a group that has a tool which is refused, and tell of it."""
        if len(tools) <= 1:
            await self.note(tools, refusal, request, is_certain=True)
            return
        await self.note(tools, refusal, request, is_certain=False)
        _suspected[self._place] = frozenset(map(digest_of, tools))

    def suspected(self, tools: Sequence[Tool]) -> list[Tool]:
        """Return a group that has a tool which is refused, from a search that has come to no end; [] if there is none.

        Args:
            tools: of the request, none of which was accepted.
        """
        known = _suspected.get(self._place, frozenset()) - _accepted.get((*self._place, self._model), frozenset())
        found = [tool for tool in tools if digest_of(tool) in known]
        return found if len(found) == len(known) else []  # another may have been the one


class Asking:
    """One request, which is repeated without tools that are refused.

    Attributes:
        request: the one that was answered.
        repeated: how many requests were sent besides that one.
        spent: what requests used whose answers were not read. Refused ones use nothing.
    """

    def __init__(
        self,
        refused: RefusedTools,
        send: Callable[[ModelRequest], Awaitable[httpx2.Response]],
        request: ModelRequest,
    ) -> None:
        self.request = request
        self.repeated = 0
        self.spent = Usage()
        self._refused = refused
        self._send = send

    async def response(self) -> httpx2.Response:
        """Send the request and return the response, whose body has not been read.

        Raises:
            ModelError: it failed for another reason, or in spite of all that was left out.
        """
        try:
            response = await self._answer()
        except ModelError as error:
            error.repeated_requests = self.repeated
            raise
        self._refused.accept(self.request)
        return response

    def counted(self, reply: Reply) -> Reply:
        """Return the reply with the further requests, and what those used whose answers were not read."""
        if not self.repeated:
            return reply
        usage = usage_of(self.request, reply) + self.spent if self.spent.total_tokens else reply.usage
        return replace(reply, usage=usage, repeated_requests=self.repeated)

    async def _answer(self) -> httpx2.Response:
        whole = self.request
        new = len(self._refused.accepted(whole.tools)) < len(whole.tools)
        try:
            return await self._send(whole)
        except ModelError as error:
            if not self._may_be_a_tool(error, has_new=new):
                raise
            latest = error
        while self._left and (found := named_tools(latest, self.request.tools)):
            is_refusal = isinstance(latest, Refusal)
            if is_refusal:
                # At once, so that the next turn goes on from here though this one should come to nothing.
                await self._refused.note(found, latest, self.request, is_certain=True)
            # The last request must not meet one more that would be refused.
            proven = self._refused.accepted(self.request.tools)
            unproven = [tool for tool in self.request.tools if tool not in proven] if self._left == 1 else []
            before = self.request
            self.request = _without(self.request, [*found, *unproven])
            try:
                response = await self._again()
            except ModelError as error:
                if not self._may_be_a_tool(error):
                    raise
                latest = error
            else:
                if not is_refusal:  # a failure that might have passed by itself
                    await self._refused.note(found, latest, before, is_certain=False)
                return response
        if not isinstance(latest, Refusal):
            raise latest
        return await self._searched(latest)

    async def _searched(self, refusal: Refusal) -> httpx2.Response:
        """Find the tools that are refused among those that no accepted request had."""
        whole = self.request
        request = self.request
        response = None
        proven = self._refused.accepted(whole.tools)
        suspected = self._refused.suspected([tool for tool in whole.tools if tool not in proven])
        search = _Search(whole.tools, proven, suspected=suspected)
        while self._left and (kept := search.next(is_last=self._left == 1)) is not None:
            self.request = _without(whole, [tool for tool in whole.tools if tool not in kept])
            try:
                newer = await self._again()
            except ModelError as error:
                if not isinstance(error, Refusal) or not self._may_be_a_tool(error, has_new=True):
                    if response is None:
                        raise
                    break
                search.refused()
                continue
            except BaseException:
                if response is not None:
                    await response.aclose()
                raise
            search.accepted()
            if response is not None:
                await response.aclose()
                self.spent += estimate_usage(request, 0)
            response = newer
            request = self.request
        if response is None:
            raise refusal
        self.request = request
        await self._refused.note(search.certain, refusal, whole, is_certain=True)
        await self._refused.suspect(search.suspects, refusal, whole)
        if search.others:
            logger.warning("One answer was made without %d further tools: %s", len(search.others), NOT_KNOWN)
        return response

    @property
    def _left(self) -> int:
        return MAX_REQUESTS - self.repeated

    def _may_be_a_tool(self, error: ModelError, *, has_new: bool = False) -> bool:
        is_typed = self.request.response_format is not None
        return may_be_a_tool(error, self.request.tools, is_typed=is_typed, has_new=has_new)

    async def _again(self) -> httpx2.Response:
        self.repeated += 1
        return await self._send(self.request)


class _Search:
    """Finds which of a request's tools are refused; one that was part of an accepted request is never left out again.

    Each request keeps what is known to be accepted, so that the latest accepted one has the most tools.

    Args:
        tools: of the request that was refused.
        proven: those that were part of an accepted request.
        suspected: a group that has a tool which is refused, as an earlier search found; [] if there was none.

    Attributes:
        suspects: the smallest group known to have a tool that is refused.
        certain: tools that were found before that.
        others: those of which nothing is known.
    """

    def __init__(self, tools: Iterable[Tool], proven: list[Tool], *, suspected: list[Tool]) -> None:
        unproven = [tool for tool in tools if tool not in proven]
        if not unproven:  # all together are too much, or the provider takes less than it did
            unproven = [tool for tool in proven if not tool.is_provider_side]
            proven = [tool for tool in proven if tool.is_provider_side]
        self.suspects = by_suspicion(suspected or unproven)
        self.certain: list[Tool] = []
        self.others = [tool for tool in unproven if tool not in self.suspects]
        self._proven = proven
        # Left out first.
        self._odd = [] if suspected else conspicuous(self.suspects)
        self._tried: list[Tool] = []
        self._has_answer = self._is_over = False
        self._has_tried_others = False
        # Requests with both the others and half of the suspects that were refused.
        self._misses = 0

    def next(self, *, is_last: bool) -> list[Tool] | None:
        """Return the tools of the next request; None if nothing is left to find out.

        Args:
            is_last: whether no other request may follow, so that this one must be accepted if none was.
        """
        is_found = len(self.suspects) <= 1 and not self.others
        if self._is_over or (self._has_answer and is_found):
            return None
        if not self._has_answer and (is_last or is_found):
            self._tried = []
        elif self.others and not self.suspects:
            self._tried = self.others
        elif self.others and not self._has_answer and not self._has_tried_others:
            # If only one tool is refused, these are accepted.
            self._has_tried_others = True
            self._tried = self.others
        else:
            half = self._half()
            is_bold = self._has_answer and self._misses < MAX_MISSES
            self._tried = [*self.others, *half] if is_bold else half
        return [*self._proven, *self._tried]

    def _half(self) -> list[Tool]:
        odd, self._odd = self._odd, []
        if odd:
            return [tool for tool in self.suspects if tool not in odd]
        middle = -(-len(self.suspects) // 2)
        return self.suspects[:middle] if self._misses == 1 else self.suspects[middle:]

    def accepted(self) -> None:
        """Note that the request was accepted."""
        self._has_answer = True
        self._proven = [*self._proven, *self._tried]
        self.suspects = [tool for tool in self.suspects if tool not in self._tried]
        self.others = [tool for tool in self.others if tool not in self._tried]

    def refused(self) -> None:
        """Note that the request was refused."""
        self._is_over = not self._tried  # it has another reason
        if any(tool in self._tried for tool in self.others):
            if not any(tool in self._tried for tool in self.suspects):  # they have one that is refused too
                if len(self.suspects) <= 1:
                    self.certain += self.suspects
                    self.suspects, self.others = self.others, []
            else:
                self._misses += 1
            return
        self.others = [tool for tool in (*self.others, *self.suspects) if tool not in self._tried]
        self.suspects = self._tried
        if len(self.suspects) == 1:
            self.certain += self.suspects
            self.suspects = []


def _without(request: ModelRequest, tools: Iterable[Tool]) -> ModelRequest:
    names = {tool.name for tool in tools}
    if not names:
        return request
    choice = None if request.tool_choice in names else request.tool_choice
    kept = [tool for tool in request.tools if tool.name not in names]
    return replace(request, tools=kept, tool_choice=choice if kept else None)
