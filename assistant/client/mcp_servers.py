"""MCP servers that a program gives by value, as a source of tools."""

from __future__ import annotations

import asyncio
import logging
import math
from collections.abc import Awaitable, Callable, Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

from assistant.mcp_client import (
    CallQuestions,
    Command,
    Endpoint,
    Listing,
    RemoteFailure,
    SessionPool,
    ToolDefinition,
    remote_tool,
)
from assistant.mcp_client.remote_tool import local_name
from assistant.toolkit import Question, Tool, ToolContext, ToolResult
from assistant.toolkit.calls.gate import HandedIn, ask, called
from assistant.toolkit.guards.url_guard import UrlGuard
from assistant.toolkit.per_loop import PerLoop
from assistant.toolkit.text import stripped, trimmed

if TYPE_CHECKING:
    from assistant.mcp_client.session import RemoteSession

logger = logging.getLogger(__name__)

Answer = Mapping[str, Any] | None
# What a program gives to be asked: returns an answer that fits the question's schema, or None.
OnQuestion = Callable[[Question, ToolContext[Any]], Awaitable[Answer] | Answer]
# Listings are no older than this, also of a server that announces no changes.
LISTING_SECONDS = 60.0


class RemoteToolError(Exception):
    """A tool of an MCP server has answered with an error; the message is its text.

    Attributes:
        tool: the tool's name at the server.
        result: its whole result.
    """

    def __init__(self, tool: str, result: ToolResult) -> None:
        super().__init__(result.content)
        self.tool = tool
        self.result = result


@dataclass(frozen=True, slots=True)
class McpServer:
    """An MCP server whose tools a model may call: at a URL (Streamable HTTP), or a program on this machine.

    Attributes:
        headers: of every request, such as `Authorization`. White space around them, and around the URL, is removed.
        command: the program and its arguments, which speaks MCP on its standard input and output.
        prefix: put before the names of its tools, with two underscores.
        only: the names of the tools that are offered, as the server has them; None for all.
        requires_approval: whether a person must approve every call.
        timeout: of a call, in seconds.
        raises_errors: whether a result that the server marks as an error (`isError`) is raised as `RemoteToolError`,
            which `on_error` then decides about; else the model reads its text.

    Raises:
        ValueError: neither or both of `url` and `command` are given.
        TypeError: `requires_approval` is neither True nor False.
    """

    url: str = ""
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    command: Sequence[str] = ()
    prefix: str = ""
    only: Collection[str] | None = None
    requires_approval: bool = False
    timeout: float = 30.0
    raises_errors: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "url", stripped(self.url))
        headers = {trimmed(name): trimmed(value) for name, value in self.headers.items()}
        object.__setattr__(self, "headers", headers)
        if bool(self.url) == bool(self.command) or isinstance(self.command, str):
            raise ValueError("An MCP server has either a URL, or a command as a sequence.")
        for option in ("requires_approval", "raises_errors"):
            value = getattr(self, option)
            if not isinstance(value, bool):
                raise TypeError(f"{option} of an MCP server must be True or False, not a {type(value).__name__}.")

    @property
    def key(self) -> Hashable:
        """What its session is opened with."""
        return self.url, tuple(sorted(self.headers.items())), tuple(self.command)

    @property
    def endpoint(self) -> Endpoint:
        if self.command:
            program, *arguments = self.command
            return Endpoint(command=Command(program, tuple(arguments)))
        # The program has chosen this address itself; what it redirects to may still not be internal.
        return Endpoint(url=self.url, headers=self.headers, guard=UrlGuard(trusted=(self.url,)))


# Called with a server and the tools that it lists now, when these are others than before.
OnToolsChanged = Callable[[McpServer, Sequence[Tool]], Awaitable[None] | None]


async def _answer(on_question: OnQuestion, question: Question, context: ToolContext) -> Answer:
    """Return what the program answers, in the time that it takes; nothing if that is no answer."""
    given = HandedIn(on_question, (question, context), "on_question", "ChatClient", seconds=math.inf)
    answer = await called(given)
    if answer is None or isinstance(answer, Mapping):
        return answer
    logger.error("on_question of ChatClient gave a %s, which is no answer", type(answer).__name__)
    return None


class McpTools:
    """The tools of MCP servers. Sessions stay open in each event loop, until five minutes without a call.

    Args:
        on_question: answers what servers ask during a call; without it they learn that they cannot ask.
        on_tools_changed: learns that a server lists other tools than before, as soon as this is known.
    """

    def __init__(self, on_question: OnQuestion | None = None, on_tools_changed: OnToolsChanged | None = None) -> None:
        self._on_question = on_question
        self._on_tools_changed = on_tools_changed
        self._listings: dict[Hashable, tuple[ToolDefinition, ...]] = {}
        self._pools: PerLoop[SessionPool] = PerLoop(SessionPool)

    async def of(self, server: McpServer) -> list[Tool]:
        """Return the tools that a server lists; a listing may be `LISTING_SECONDS` old. Raises `RemoteFailure`."""
        session = await self._session(server)
        await session.refresh_if_older(LISTING_SECONDS)
        return self._tools(server, session.tools.values())

    async def close(self) -> None:
        """Close the sessions of this event loop."""
        await self._pools.get().close()

    def _tools(self, server: McpServer, definitions: Iterable[ToolDefinition]) -> list[Tool]:
        return [
            self._tool(server, definition)
            for definition in definitions
            if server.only is None or definition.name in server.only
        ]

    async def _listed(self, server: McpServer, listing: Listing) -> None:
        """Tell the program if a server lists other tools than before."""
        before = self._listings.get(server.key)
        self._listings[server.key] = listing.tools
        if self._on_tools_changed is None or before is None or before == listing.tools:
            return
        tools = self._tools(server, listing.tools)
        asked = HandedIn(self._on_tools_changed, (server, tools), "on_tools_changed", "ChatClient", seconds=60.0)
        if (answer := await ask(asked)).problem:
            logger.error("on_tools_changed of ChatClient %s", answer.problem, exc_info=answer.error)

    def _tool(self, server: McpServer, definition: ToolDefinition) -> Tool:
        return remote_tool(
            name=local_name(server.prefix, definition.name),
            definition=definition,
            call=partial(self._call, server, definition.name),
            # With people to ask, `_call` itself counts the time that they do not take.
            timeout=server.timeout if self._on_question is None else math.inf,
            requires_approval=server.requires_approval,
        )

    async def _session(self, server: McpServer) -> RemoteSession:
        pool = self._pools.get()
        return await pool.session(
            server.key, server.endpoint, partial(self._listed, server), asks_people=self._on_question is not None
        )

    async def _call(self, server: McpServer, name: str, arguments: dict[str, Any], context: ToolContext) -> ToolResult:
        async def report(progress: float, total: float | None, message: str | None) -> None:
            await context.report_progress(progress, total, message or "")

        for attempt in range(2):
            session = await self._session(server)
            call = partial(session.call, name, arguments, progress=report)
            try:
                result = await (call() if self._on_question is None else self._asking(server, session, call, context))
            except RemoteFailure as exc:
                if exc.kind == "ended":
                    self._pools.get().drop(server.key)
                if not exc.was_not_run or attempt:
                    raise
            else:
                if result.is_error and server.raises_errors:
                    raise RemoteToolError(name, result)
                return result
        raise AssertionError  # the second attempt returns or raises

    async def _asking(
        self,
        server: McpServer,
        session: RemoteSession,
        call: Callable[..., Awaitable[ToolResult]],
        context: ToolContext,
    ) -> ToolResult:
        """Call within the server's timeout, which is paused while a person is asked."""
        loop = asyncio.get_running_loop()
        one_at_a_time = asyncio.Lock()

        async def person(question: Question) -> Mapping[str, Any] | None:
            async with one_at_a_time:
                left = (limit.when() or math.inf) - loop.time()
                limit.reschedule(None)
                try:
                    return None if self._on_question is None else await _answer(self._on_question, question, context)
                finally:
                    limit.reschedule(loop.time() + left)

        questions = CallQuestions(session.server_name or server.prefix, {}, person=person)
        try:
            async with asyncio.timeout(server.timeout) as limit:
                result = await call(questions=questions)
        except TimeoutError as exc:
            raise RemoteFailure("timeout", f"{server.timeout} s", may_have_run=True) from exc
        return questions.told(result)
