"""MCP servers that a program gives by value, as a source of tools."""

from __future__ import annotations

import asyncio
import inspect
import logging
import math
from collections import defaultdict
from collections.abc import (
    AsyncGenerator,
    Awaitable,
    Callable,
    Collection,
    Generator,
    Hashable,
    Iterable,
    Mapping,
    Sequence,
)
from contextlib import asynccontextmanager, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

from assistant.client.mcp_contents import content_tools
from assistant.mcp_client import (
    CallQuestions,
    Command,
    Endpoint,
    Handlers,
    Listing,
    LogLevel,
    RemoteFailure,
    SamplingRequest,
    ServerLog,
    SessionPool,
    ToolDefinition,
    remote_tool,
)
from assistant.mcp_client.remote_tool import local_name
from assistant.mcp_client.shared_context import CONTEXT_KEYS, EXTRA, meta_of
from assistant.toolkit import Question, Tool, ToolContext, ToolResult
from assistant.toolkit.calls.gate import HandedIn, ask, ask_all, called, is_generator, positional_mistake
from assistant.toolkit.guards.url_guard import UrlGuard
from assistant.toolkit.per_loop import PerLoop
from assistant.toolkit.text import stripped, trimmed

if TYPE_CHECKING:
    from assistant.mcp_client.session import RemoteSession

logger = logging.getLogger(__name__)

Answer = Mapping[str, Any] | None
# Called with a question of a server; returns an answer that fits the question's schema, or None.
OnQuestion = Callable[[Question, ToolContext[Any]], Awaitable[Answer] | Answer]
# Called with a line of a server's log, and the context of the call that it belongs to; None if it belongs to none.
OnLog = Callable[[ServerLog, ToolContext[Any] | None], Awaitable[None] | None]
# Called with a server's wish for a model's answer and the context of the call; returns the answer's text, or None.
OnSampling = Callable[[SamplingRequest, ToolContext[Any]], Awaitable[str | None] | str | None]
# Folders that servers are told they may work in.
Roots = Sequence[str | Path]
_FILE = "file:///"
# Listings are no older than this, also of a server that announces no changes.
LISTING_SECONDS = 60.0
# Answers of a model that a server may ask for in one call.
MAX_SAMPLES = 10


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a server's tool says that it is.

    Attributes:
        tool: the tool's name, as the model sees it.
        total: None if the server does not say.
    """

    tool: str
    done: float
    total: float | None
    message: str


# Called with the progress of a call and the call's context.
OnProgress = Callable[[Progress, ToolContext[Any]], Awaitable[None] | None]


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
        only: the names of the tools that are offered, as the server has them, or a function of a `ToolDefinition` that
            says whether it is; None for all.
        shares: what the server is told of each call's context, in `_meta` under `tenant-assistant/context`: of
            `tenant.id`, `tenant.slug`, `tenant.name`, `tenant.timezone`, `user.id`, `user.username`, `assistant`,
            `thread_id`, `run_id`, `tool_call_id`, `idempotency_key`, and `extra.<name>` for a value of `context.extra`.
            Secrets are never among them.
        resources: whether the model gets tools that list and read the server's resources.
        prompts: the same for the server's prompts.
        requires_approval: whether a person must approve every call.
        timeout: of a call, in seconds.
        raises_errors: whether a result that the server marks as an error (`isError`) is raised as `RemoteToolError`,
            which `on_error` then decides about; else the model reads its text.

    Raises:
        ValueError: neither or both of `url` and `command` are given, or something in `shares` is not known.
        TypeError: an option has a value of another type.
    """

    url: str = ""
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    command: Sequence[str] = ()
    prefix: str = ""
    only: Collection[str] | Callable[[ToolDefinition], object] | None = None
    shares: Collection[str] = ()
    resources: bool = False
    prompts: bool = False
    requires_approval: bool = False
    timeout: float = 30.0
    raises_errors: bool = False

    def __post_init__(self) -> None:
        self._check_types()
        object.__setattr__(self, "url", stripped(self.url))
        headers = {trimmed(name): trimmed(value) for name, value in self.headers.items()}
        object.__setattr__(self, "headers", headers)
        if bool(self.url) == bool(self.command) or isinstance(self.command, str):
            raise ValueError("An MCP server has either a URL, or a command as a sequence.")
        if isinstance(self.shares, str):
            raise TypeError("shares of an MCP server are a list of names, not a str.")
        unknown = [key for key in self.shares if key not in CONTEXT_KEYS and not key.startswith(EXTRA)]
        if unknown:
            choices = ", ".join([*CONTEXT_KEYS, f"{EXTRA}<name>"])
            raise ValueError(f"An MCP server cannot be told {', '.join(map(repr, unknown))}. Choices: {choices}.")

    def _check_types(self) -> None:
        for option in ("requires_approval", "raises_errors", "resources", "prompts"):
            value = getattr(self, option)
            if not isinstance(value, bool):
                raise TypeError(f"{option} of an MCP server must be True or False, not a {type(value).__name__}.")
        for option in ("url", "prefix"):
            value = getattr(self, option)
            if not isinstance(value, str):
                raise TypeError(f"{option} of an MCP server must be a text, not {type(value).__name__}.")
        if not isinstance(self.headers, Mapping):
            # Not the value itself, which may hold a key.
            raise TypeError(f"headers of an MCP server must be a mapping, not {type(self.headers).__name__}.")
        if not isinstance(self.timeout, int | float) or not self.timeout > 0:
            raise TypeError(f"timeout of an MCP server must be a number of seconds above 0, not {self.timeout!r}.")
        if callable(self.only):
            if mistake := positional_mistake(self.only, 1):
                raise TypeError(f"only of an MCP server {mistake}.")
            if is_generator(self.only):
                raise TypeError("only of an MCP server is a generator, and must return its answer.")
        elif self.only is not None and (isinstance(self.only, str) or not isinstance(self.only, Collection)):
            given = type(self.only).__name__
            raise TypeError(f"only of an MCP server must be a list of names or a function of a tool, not {given}.")

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


@dataclass(frozen=True, slots=True)
class McpHandlers:
    """The functions of a client for what MCP servers do by themselves; those of `ChatClient`."""

    on_question: OnQuestion | None = None
    on_tools_changed: OnToolsChanged | None = None
    on_progress: OnProgress | None = None
    on_log: OnLog | None = None
    log_level: LogLevel = "info"
    on_sampling: OnSampling | None = None
    roots: Roots | None = None

    @property
    def takes_time(self) -> bool:
        """Whether a call may wait for a person or a model, whose time is none of the server's."""
        return self.on_question is not None or self.on_sampling is not None


def check_options(log_level: str, roots: object) -> None:
    """Raise `ValueError` for a level that does not exist and for relative roots, `TypeError` for a single root."""
    if log_level not in get_args(LogLevel):
        raise ValueError(f"log_level is one of {', '.join(get_args(LogLevel))}, not {log_level!r}.")
    if isinstance(roots, str | Path) or not isinstance(roots, Iterable | None):
        raise TypeError("roots are a list of folders.")
    relative = [str(root) for root in roots or () if not _is_root(root)]
    if relative:
        raise ValueError(f"Roots are absolute paths or file:// addresses, not {', '.join(relative)}.")


def _is_root(root: object) -> bool:
    return str(root).startswith(_FILE) or Path(str(root)).is_absolute()


async def _answer(on_question: OnQuestion, question: Question, context: ToolContext) -> Answer:
    """Return what the program answers, in the time that it takes; nothing if that is no answer."""
    given = HandedIn(on_question, (question, context), "on_question", "ChatClient", seconds=math.inf)
    answer = await called(given)
    if answer is None or isinstance(answer, Mapping):
        return answer
    logger.error("on_question of ChatClient gave a %s, which is no answer", type(answer).__name__)
    return None


class _RunningCall:
    """A call of a server's tool, within the server's timeout.

    Attributes:
        handled: what handles the server's progress and log lines. A result may come while they still work.
        samples: how many answers of a model the server has asked for.
    """

    def __init__(self, context: ToolContext, limit: asyncio.Timeout, handled: set[asyncio.Future[Any]]) -> None:
        self.context = context
        self.handled = handled
        self.samples = 0
        self._limit = limit
        self._one_at_a_time = asyncio.Lock()

    @asynccontextmanager
    async def paused(self) -> AsyncGenerator[None]:
        """Within the block the server's time stands still."""
        loop = asyncio.get_running_loop()
        async with self._one_at_a_time:
            left = (self._limit.when() or math.inf) - loop.time()
            self._limit.reschedule(None)
            try:
                yield
            finally:
                self._limit.reschedule(loop.time() + left)


# The SDK handles what comes on a call's own stream in the call's context.
_running: ContextVar[_RunningCall | None] = ContextVar("mcp_running_call", default=None)


class McpTools:
    """The tools of MCP servers. Sessions stay open in each event loop, until five minutes without a call.

    Args:
        handlers: the functions of the client for what servers do by themselves.
    """

    def __init__(self, handlers: McpHandlers) -> None:
        self._handlers = handlers
        self._listings: dict[Hashable, tuple[ToolDefinition, ...]] = {}
        self._calls: defaultdict[Hashable, list[_RunningCall]] = defaultdict(list)
        self._pools: PerLoop[SessionPool] = PerLoop(SessionPool)

    async def of(self, server: McpServer) -> list[Tool]:
        """Return the tools that a server lists; a listing may be `LISTING_SECONDS` old. Raises `RemoteFailure`."""
        session = await self.session(server)
        await session.refresh_if_older(LISTING_SECONDS)
        tools = await self._tools(server, session.tools.values())
        if server.resources or server.prompts:
            tools += content_tools(server, self.session)
        return tools

    async def close(self) -> None:
        """Close the sessions of this event loop."""
        await self._pools.get().close()

    async def session(self, server: McpServer) -> RemoteSession:
        """Return an open session. Raises `RemoteFailure`."""
        return await self._pools.get().session(
            server.key,
            server.endpoint,
            partial(self._listed, server),
            asks_people=self._handlers.on_question is not None,
            handlers=self._handlers_for(server),
        )

    def _handlers_for(self, server: McpServer) -> Handlers:
        handlers = self._handlers
        return Handlers(
            log=None if handlers.on_log is None else partial(self._log, handlers.on_log, server),
            log_level=handlers.log_level,
            roots=None if handlers.roots is None else partial(_addresses, handlers.roots),
            sample=None if handlers.on_sampling is None else partial(self._sample, handlers.on_sampling, server),
        )

    def _call_of(self, server: McpServer) -> _RunningCall | None:
        """Return the call that something from the server belongs to, if that is known."""
        call = _running.get()
        calls = self._calls[server.key]
        if call is None and len(calls) == 1:
            (call,) = calls  # over standard input, or on a stream of its own: the only call that runs
        return call if call in calls else None

    async def _log(self, on_log: OnLog, server: McpServer, line: ServerLog) -> None:
        call = self._call_of(server)
        context = None if call is None else call.context
        handling = asyncio.ensure_future(ask(HandedIn(on_log, (line, context), "on_log", "ChatClient", seconds=10.0)))
        if call is not None:
            call.handled.add(handling)
        answer = await handling
        if answer.problem:
            logger.error("on_log of ChatClient %s", answer.problem, exc_info=answer.error)

    async def _sample(self, on_sampling: OnSampling, server: McpServer, request: SamplingRequest) -> str | None:
        """Return what the program answers; None for a request that belongs to no call, or is one too many."""
        call = self._call_of(server)
        if call is None or call.samples >= MAX_SAMPLES:
            return None
        call.samples += 1
        async with call.paused():
            asked = HandedIn(on_sampling, (request, call.context), "on_sampling", "ChatClient", seconds=math.inf)
            text = await called(asked)
        if text is None or isinstance(text, str):
            return text
        logger.error("on_sampling of ChatClient gave a %s, which is no text", type(text).__name__)
        return None

    async def _tools(self, server: McpServer, definitions: Iterable[ToolDefinition]) -> list[Tool]:
        return [self._tool(server, definition) for definition in await _offered(server, list(definitions))]

    async def _listed(self, server: McpServer, listing: Listing) -> None:
        """Tell the program if a server lists other tools than before."""
        before = self._listings.get(server.key)
        self._listings[server.key] = listing.tools
        on_tools_changed = self._handlers.on_tools_changed
        if on_tools_changed is None or before is None or before == listing.tools:
            return
        tools = await self._tools(server, listing.tools)
        asked = HandedIn(on_tools_changed, (server, tools), "on_tools_changed", "ChatClient", seconds=60.0)
        if (answer := await ask(asked)).problem:
            logger.error("on_tools_changed of ChatClient %s", answer.problem, exc_info=answer.error)

    def _tool(self, server: McpServer, definition: ToolDefinition) -> Tool:
        name = local_name(server.prefix, definition.name)
        return remote_tool(
            name=name,
            definition=definition,
            call=partial(self._call, server, definition.name, name),
            # If people or models are asked, `_call` itself counts the time that they do not take.
            timeout=math.inf if self._handlers.takes_time else server.timeout,
            requires_approval=server.requires_approval,
        )

    async def _call(
        self, server: McpServer, name: str, shown_name: str, arguments: dict[str, Any], context: ToolContext
    ) -> ToolResult:
        handled: set[asyncio.Future[Any]] = set()

        async def report(progress: float, total: float | None, message: str | None) -> None:
            reported = Progress(shown_name, progress, total, message or "")
            handling = asyncio.ensure_future(self._report(reported, context))
            handled.add(handling)
            await handling

        meta = meta_of(context, server.shares)
        for attempt in range(2):
            session = await self.session(server)
            call = partial(session.call, name, arguments, meta=meta, progress=report)
            try:
                result = await self._within_time(server, session, call, context, handled)
            except RemoteFailure as exc:
                if exc.kind == "ended":
                    self._pools.get().drop(server.key)
                if not exc.was_not_run or attempt:
                    raise
            else:
                # Their time is bounded.
                await asyncio.gather(*handled, return_exceptions=True)
                if result.is_error and server.raises_errors:
                    raise RemoteToolError(name, result)
                return result
        raise AssertionError  # the second attempt returns or raises

    async def _report(self, progress: Progress, context: ToolContext) -> None:
        await context.report_progress(progress.done, progress.total, progress.message)
        if self._handlers.on_progress is not None:
            asked = HandedIn(self._handlers.on_progress, (progress, context), "on_progress", "ChatClient")
            if (answer := await ask(asked)).problem:
                logger.error("on_progress of ChatClient %s", answer.problem, exc_info=answer.error)

    async def _within_time(
        self,
        server: McpServer,
        session: RemoteSession,
        call: Callable[..., Awaitable[ToolResult]],
        context: ToolContext,
        handled: set[asyncio.Future[Any]],
    ) -> ToolResult:
        """Call within the server's timeout, which is paused while a person or a model is asked."""
        on_question = self._handlers.on_question
        seconds = server.timeout if self._handlers.takes_time else None
        try:
            async with asyncio.timeout(seconds) as limit:
                running = _RunningCall(context, limit, handled)
                with self._registered(server, running):
                    if on_question is None:
                        return await call()

                    async def person(question: Question) -> Answer:
                        async with running.paused():
                            return await _answer(on_question, question, context)

                    questions = CallQuestions(session.server_name or server.prefix, {}, person=person)
                    return questions.told(await call(questions=questions))
        except TimeoutError as exc:
            raise RemoteFailure("timeout", f"{server.timeout} s", may_have_run=True) from exc

    @contextmanager
    def _registered(self, server: McpServer, running: _RunningCall) -> Generator[None]:
        token = _running.set(running)
        self._calls[server.key].append(running)
        try:
            yield
        finally:
            self._calls[server.key].remove(running)
            _running.reset(token)


async def _addresses(roots: Roots) -> list[str]:
    return [str(root) if str(root).startswith(_FILE) else Path(root).as_uri() for root in roots]


async def _offered(server: McpServer, definitions: Sequence[ToolDefinition]) -> list[ToolDefinition]:
    """Return the tools that `only` of the server lets through; one about which it gives no answer is not offered."""
    only = server.only
    if only is None:
        return list(definitions)
    if not callable(only):
        return [definition for definition in definitions if definition.name in only]
    asked = [[HandedIn(only, (definition,), "only", "McpServer")] for definition in definitions]
    offered: list[ToolDefinition] = []
    for definition, (answer,) in zip(definitions, await ask_all(asked), strict=True):
        if answer.problem:
            logger.error("only of McpServer %s", answer.problem, exc_info=answer.error)
        elif inspect.isgenerator(answer.value) or inspect.isasyncgen(answer.value):
            logger.error("only of McpServer gave a generator, which is no answer")
        elif answer.value:
            offered.append(definition)
    return offered
