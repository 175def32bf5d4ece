"""MCP servers that a program gives by value, as a source of tools."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from assistant.mcp_client import Command, Endpoint, RemoteFailure, SessionPool, ToolDefinition, remote_tool
from assistant.mcp_client.remote_tool import local_name
from assistant.toolkit import Tool, ToolContext, ToolResult
from assistant.toolkit.guards.url_guard import UrlGuard
from assistant.toolkit.per_loop import PerLoop


@dataclass(frozen=True, slots=True)
class McpServer:
    """An MCP server whose tools a model may call: at a URL (Streamable HTTP), or a program on this machine.

    Attributes:
        headers: of every request, such as `Authorization`.
        command: the program and its arguments, which speaks MCP on its standard input and output.
        prefix: put before the names of its tools, with two underscores.
        only: the names of the tools that are offered, as the server has them; None for all.
        requires_approval: whether a person must approve every call.
        timeout: of a call, in seconds.

    Raises:
        ValueError: neither or both of `url` and `command` are given.
    """

    url: str = ""
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    command: Sequence[str] = ()
    prefix: str = ""
    only: Collection[str] | None = None
    requires_approval: bool = False
    timeout: float = 30.0

    def __post_init__(self) -> None:
        if bool(self.url) == bool(self.command) or isinstance(self.command, str):
            raise ValueError("An MCP server has either a URL, or a command as a sequence.")

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


class McpTools:
    """The tools of MCP servers. Sessions stay open in each event loop, until five minutes without a call."""

    def __init__(self) -> None:
        self._pools: PerLoop[SessionPool] = PerLoop(SessionPool)

    async def of(self, server: McpServer) -> list[Tool]:
        """Return the tools that a server lists now. Raises `RemoteFailure`."""
        session = await self._pools.get().session(server.key, server.endpoint)
        return [
            self._tool(server, definition)
            for definition in session.tools.values()
            if server.only is None or definition.name in server.only
        ]

    async def close(self) -> None:
        """Close the sessions of this event loop."""
        await self._pools.get().close()

    def _tool(self, server: McpServer, definition: ToolDefinition) -> Tool:
        return remote_tool(
            name=local_name(server.prefix, definition.name),
            definition=definition,
            call=partial(self._call, server, definition.name),
            timeout=server.timeout,
            requires_approval=server.requires_approval,
        )

    async def _call(self, server: McpServer, name: str, arguments: dict[str, Any], context: ToolContext) -> ToolResult:
        async def report(progress: float, total: float | None, message: str | None) -> None:
            await context.report_progress(progress, total, message or "")

        pool = self._pools.get()
        for attempt in range(2):
            session = await pool.session(server.key, server.endpoint)
            try:
                return await session.call(name, arguments, progress=report)
            except RemoteFailure as exc:
                if exc.kind == "ended":
                    pool.drop(server.key)
                if not exc.was_not_run or attempt:
                    raise
        raise AssertionError  # the second attempt returns or raises
