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

from assistant.core.llm.protocol import (
    PASSING,
    FailureDetails,
    ModelError,
    ModelRequest,
    estimate_usage,
    usage_of,
)
from assistant.core.values.messages import Reply, Usage
from assistant.providers.failure_masking import masked
from assistant.providers.openai_wire.refusals import Refusal, in_stream
from assistant.providers.tool_adaptation.adapted_tool import digest_of
from assistant.providers.tool_adaptation.refusal_sentences import (
    is_about_definitions,
    may_be_a_tool,
    named_tools,
    said_in,
)
from assistant.providers.tool_adaptation.search import Search, Unfinished
from assistant.toolkit import Tool
from assistant.toolkit.calls.gate import HandedIn, ask

if TYPE_CHECKING:
    import httpx2

logger = logging.getLogger(__name__)

# How often a request that was refused is sent again.
MAX_REQUESTS = 4
MAX_REASON = 300
NOT_KNOWN = "it is not known yet whether the provider takes them"
# What was refused, for an hour: by the kind of model, the address and a hash of the key, since what one tenant is
# refused says nothing about another's requests. The same for five minutes of tools that a failure has named which may
# pass. By the model too, what was part of an accepted request, and searches that have come to no end.
_refused: TTLCache[tuple[str, ...], frozenset[str]] = TTLCache(1_000, ttl=3_600)
_failing: TTLCache[tuple[str, ...], frozenset[str]] = TTLCache(1_000, ttl=300)
_accepted: TTLCache[tuple[str, ...], frozenset[str]] = TTLCache(1_000, ttl=3_600)
_unfinished: TTLCache[tuple[str, ...], Unfinished] = TTLCache(1_000, ttl=3_600)
# Tools of whole requests that were accepted, for an hour, by the `key` of `RefusedTools`: until a tool is refused
# anywhere, such a request need not be looked at. Few, as of `adapted_tools`.
settled: TTLCache[tuple[object, tuple[Tool, ...]], bool] = TTLCache(200, ttl=3_600)
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
Send = Callable[[ModelRequest], Awaitable["httpx2.Response"]]
FirstFailure = Callable[["httpx2.Response"], Awaitable[ModelError | None]]


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

    Attributes:
        key: stands for the model and what is known of it in `settled`.
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
        self._model_place = (*self._place, model)
        self._label = label
        self._key = key
        self._known = frozenset(known)
        self.key = (self._model_place, self._known)
        self._on_refused = on_refused

    def begin(self, send: Send, first_failure: FirstFailure, request: ModelRequest) -> Asking:
        """Return what sends a request.

        Args:
            first_failure: returns the failure that a response to this request reports as its first event, if any.
        """
        nothing: frozenset[str] = frozenset()
        refused = self._known | _refused.get(self._place, nothing) | _failing.get(self._place, nothing)
        left_out = [tool for tool in request.tools if digest_of(tool) in refused] if refused else []
        request = _without(request, left_out)
        search = self._search(request.tools) if self._model_place in _unfinished else None
        return Asking(self, send, first_failure, request, search, is_whole=not left_out)

    def accepted(self, tools: Iterable[Tool]) -> list[Tool]:
        """Return those of the tools that were part of a request that this model has accepted."""
        known = _accepted.get(self._model_place, frozenset())
        return [tool for tool in tools if tool.is_provider_side or digest_of(tool) in known]

    def accept(self, request: ModelRequest) -> None:
        """Remember the tools of a request that was accepted."""
        known = _accepted.get(self._model_place, frozenset())
        more = {digest_of(tool) for tool in request.tools}
        if not more <= known:
            _accepted[self._model_place] = known | more if len(known) < MAX_ACCEPTED else frozenset(more)

    def reason(self, error: ModelError, request: ModelRequest) -> str:
        """Return why a provider failed, in its own words without keys and prompts."""
        details = error.details or FailureDetails(message=said_in(error))
        return str(masked(details, request, keys=(self._key,) if self._key else ()))[:MAX_REASON]

    async def note(self, tools: Iterable[Tool], reason: str, *, is_certain: bool, is_failing: bool = False) -> None:
        """Remember tools that were refused, and tell of them.

        Args:
            is_failing: whether it was a failure that may pass, which names them.
        """
        settled.clear()
        for tool in tools:
            found = RefusedTool(tool.name, digest_of(tool), reason, is_certain)
            if is_certain:
                _refused[self._place] = _refused.get(self._place, frozenset()) | {found.digest}
                sentence = "%s refuses the tool %s, which is not offered any more: %s"
            elif is_failing:
                _failing[self._place] = _failing.get(self._place, frozenset()) | {found.digest}
                sentence = "%s fails with the tool %s, which is not offered for some minutes: %s"
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

    def _search(self, tools: Sequence[Tool]) -> Search | None:
        """Return the search that an earlier request has begun among these tools; None if there is none."""
        unfinished = _unfinished.get(self._model_place)
        return None if unfinished is None else Search.continued(tools, self.accepted(tools), unfinished)

    def keep(self, search: Search) -> None:
        """Remember how far a search has come, for the next request."""
        settled.clear()
        if (unfinished := search.unfinished) is not None:
            _unfinished[self._model_place] = unfinished
        else:
            _unfinished.pop(self._model_place, None)


class Asking:
    """One request, which is repeated without tools that are refused.

    Attributes:
        request: the one that was answered.
        repeated: how many requests were sent besides the first.
        spent: what requests used whose answers were not read. Refused ones use nothing.

    Args:
        is_whole: whether the request has all tools that were offered.
    """

    def __init__(
        self,
        refused: RefusedTools,
        send: Send,
        first_failure: FirstFailure,
        request: ModelRequest,
        search: Search | None = None,
        *,
        is_whole: bool = True,
    ) -> None:
        self.request = request
        self.repeated = 0
        self.spent = Usage()
        self._search = search
        self._is_whole = is_whole
        self._refused = refused
        self._send = send
        self._first_failure = first_failure
        self._sent = 0
        # Whether it failed with a 5xx: it was repeated as it was then, and what follows need not be.
        self._is_failing = False

    async def response(self, failure: ModelError | None = None) -> httpx2.Response:
        """Send the request and return the response, whose body has not been read.

        Args:
            failure: of the request, if it was sent already.

        Raises:
            ModelError: it failed for another reason, or in spite of all that was left out.
        """
        try:
            response = await self._answer(failure)
        except ModelError as error:
            error.repeated_requests = self.repeated
            raise
        self._refused.accept(self.request)
        if self._is_whole and not self.repeated:
            settled[self._refused.key, tuple(self.request.tools)] = True
        return response

    def counted(self, reply: Reply) -> Reply:
        """Return the reply with the further requests, and what those used whose answers were not read."""
        if not self.repeated:
            return reply
        usage = usage_of(self.request, reply) + self.spent if self.spent.total_tokens else reply.usage
        return replace(reply, usage=usage, repeated_requests=self.repeated)

    async def _answer(self, failure: ModelError | None) -> httpx2.Response:
        if self._search is not None:
            return await self._searched(self._search)
        new = len(self._refused.accepted(self.request.tools)) < len(self.request.tools)
        self._sent = 1
        latest = failure
        if latest is None:
            try:
                response = await self._send(self.request)
                return await self._checked(response) if new else response
            except ModelError as error:
                latest = error
        if not self._may_be_a_tool(latest, has_new=new):
            raise latest
        self._is_failing = not isinstance(latest, Refusal)
        while self._left and (named := named_tools(latest, self.request.tools)):
            reason = self._refused.reason(latest, self.request)
            is_certain = is_about_definitions(latest)
            if is_certain:
                # At once, so that the next turn goes on from here though this one should come to nothing.
                await self._refused.note(named, reason, is_certain=True)
            # The last request must not meet one more that would be refused.
            proven = self._refused.accepted(self.request.tools)
            unproven = [tool for tool in self.request.tools if tool not in proven] if self._left == 1 else []
            self.request = _without(self.request, [*named, *unproven])
            try:
                response = await self._ask()
            except ModelError as error:
                if not self._may_be_a_tool(error):
                    raise
                latest = error
            else:
                if not is_certain:
                    await self._refused.note(named, reason, is_certain=False, is_failing=True)
                return response
        if not is_about_definitions(latest):
            raise latest
        tools = self.request.tools
        reason = self._refused.reason(latest, self.request)
        return await self._searched(Search.new(tools, self._refused.accepted(tools), reason=reason), latest)

    async def _searched(self, search: Search, latest: ModelError | None = None) -> httpx2.Response:
        """Find the tools that are refused among those that no accepted request had.

        Args:
            latest: why the whole request was refused; None if it was not sent, since an earlier one was refused.
        """
        whole = self.request
        request = self.request
        response = None
        try:
            while self._left and (kept := search.next(is_last=self._left == 1)) is not None:
                self.request = _without(whole, [tool for tool in whole.tools if tool not in kept])
                try:
                    newer = await self._ask()
                except ModelError as error:
                    latest = error
                    if not self._may_be_a_tool(error, has_new=True) or not is_about_definitions(error):
                        if error.kind in PASSING and not is_about_definitions(error):
                            error.is_worth_repeating |= self._is_failing
                        elif not search.is_trying:
                            search.refused()
                        break
                    search.reason = self._refused.reason(error, self.request)
                    named = named_tools(error, self.request.tools)
                    await self._refused.note(named, search.reason, is_certain=True)
                    search.refused(named)
                    continue
                search.accepted()
                self._refused.accept(self.request)
                if response is not None:
                    await response.aclose()
                    self.spent += estimate_usage(request, 0)
                response = newer
                request = self.request
        except BaseException:
            if response is not None:
                await response.aclose()
            raise
        finally:
            self._refused.keep(search)
        if response is None:
            assert latest is not None  # noqa: S101 - none was answered  # nosec B101
            raise latest
        self.request = request
        await self._refused.note(search.certain, search.reason, is_certain=True)
        await self._refused.note(search.suspects, search.reason, is_certain=False)
        if search.others:
            logger.warning("One answer was made without %d further tools: %s", len(search.others), NOT_KNOWN)
        return response

    @property
    def _left(self) -> int:
        return 1 + MAX_REQUESTS - self._sent

    def _may_be_a_tool(self, error: ModelError, *, has_new: bool = False) -> bool:
        is_typed = self.request.response_format is not None
        return may_be_a_tool(error, self.request.tools, is_typed=is_typed, has_new=has_new)

    async def _ask(self) -> httpx2.Response:
        self.repeated = self._sent
        self._sent += 1
        response = await self._send(replace(self.request, has_retries=False) if self._is_failing else self.request)
        is_known = len(self._refused.accepted(self.request.tools)) == len(self.request.tools)
        return response if is_known else await self._checked(response)

    async def _checked(self, response: httpx2.Response) -> httpx2.Response:
        """Return a response whose first event does not refuse a tool.

        Servers that begin to answer before they have read the request can refuse it only then.
        """
        try:
            failure = await self._first_failure(response)
            if failure is not None:
                refusal = in_stream(failure)
                if self._may_be_a_tool(refusal, has_new=True):
                    raise refusal
        except BaseException:
            await response.aclose()
            raise
        return response


def _without(request: ModelRequest, tools: Iterable[Tool]) -> ModelRequest:
    names = {tool.name for tool in tools}
    if not names:
        return request
    choice = None if request.tool_choice in names else request.tool_choice
    kept = [tool for tool in request.tools if tool.name not in names]
    return replace(request, tools=kept, tool_choice=choice if kept else None)
