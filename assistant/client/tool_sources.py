"""The tools of a client's calls: those that it was made with, or those of the call, and MCP servers among them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Any

from assistant.client.mcp_servers import McpServer, McpTools, OnQuestion
from assistant.core.client.tool_names import AnyTool, Resolver, find_tool, find_tool_of_call
from assistant.core.toolcalls.protocols import FixedToolset, Toolset
from assistant.core.toolcalls.tool_search import SearchingToolset
from assistant.toolkit import InvalidTool, Registry, Tool
from assistant.toolkit.calls.gate import HandedIn, called
from assistant.toolkit.definition.settings import has_config_functions

ToolSource = AnyTool | McpServer


class ToolSources:
    """What a client takes its tools from; the arguments are those of `ChatClient`."""

    def __init__(
        self,
        tools: Iterable[ToolSource],
        *,
        resolvers: Sequence[Resolver],
        configs: Mapping[str, Any] | None,
        secrets: Mapping[str, Mapping[str, str]] | None,
        search_over: int,
        on_question: OnQuestion | None = None,
    ) -> None:
        self._resolvers = tuple(resolvers)
        self._configs, self._secrets = configs, secrets
        self._search_over = search_over
        self._on_question = on_question
        self._mcp: McpTools | None = None
        self._defaults: dict[str, Tool] = {}
        self._given = self._resolved(tools)
        self._defaults = {tool.name: tool for tool in self._given if isinstance(tool, Tool)}
        # Validators of settings may query a database, which only the calls can wait for.
        FixedToolset((tool for tool in self._defaults.values() if not has_config_functions(tool)), configs=configs)

    async def toolset(self, own: Iterable[ToolSource] | None, deps: object) -> Toolset:
        """Return the tools of one call.

        Args:
            own: the call's own, which replace the client's; None for these.
            deps: the dependencies that the tools get.

        Raises:
            InvalidTool: a tool's settings are not valid, two have one name, or one waits or wants other dependencies.
            UnknownTool: nothing knows a name.
            RemoteFailure: an MCP server cannot be used.
        """
        tools: list[Tool] = []
        for source in self._given if own is None else await self._of_call(own):
            tools += await self._mcp_tools().of(source) if isinstance(source, McpServer) else [source]
        check_deps(tools, deps)
        make = partial(FixedToolset, tools, configs=self._configs, secrets=self._secrets)
        if any(map(has_config_functions, tools)):
            toolset = await called(HandedIn(make, (), "config", "ChatClient", FixedToolset))
        else:
            toolset = make()
        return SearchingToolset(toolset, threshold=self._search_over) if self._search_over else toolset

    async def close(self) -> None:
        """Close the sessions with MCP servers."""
        if self._mcp is not None:
            await self._mcp.close()

    def _mcp_tools(self) -> McpTools:
        if self._mcp is None:
            self._mcp = McpTools(self._on_question)
        return self._mcp

    def _resolved(self, sources: Iterable[ToolSource]) -> list[Tool | McpServer]:
        return _possible(
            source if isinstance(source, Tool | McpServer) else find_tool(source, self._defaults, self._resolvers)
            for source in sources
        )

    async def _of_call(self, sources: Iterable[ToolSource]) -> list[Tool | McpServer]:
        return _possible(
            [
                source
                if isinstance(source, Tool | McpServer)
                else await find_tool_of_call(source, self._defaults, self._resolvers)
                for source in sources
            ]
        )


def _possible(sources: Iterable[Tool | McpServer]) -> list[Tool | McpServer]:
    """Return the sources. Raises `InvalidTool` for two tools of one name, and for one that waits."""
    found = list(sources)
    for tool in Registry(tool for tool in found if isinstance(tool, Tool)):
        if tool.waits:
            raise InvalidTool(f"Tool {tool.name!r} waits for results from outside, which only a server's runs can.")
    return found


def check_deps(tools: Iterable[Tool], deps: object) -> None:
    """Raise `InvalidTool` if a tool wants dependencies of another type."""
    for tool in tools:
        for wanted in getattr(tool.signature, "deps", ()):
            if not _is(deps, wanted):
                given = "none are given" if deps is None else f"{type(deps).__name__} are given"
                raise InvalidTool(f"Tool {tool.name!r} wants dependencies of the type {wanted.__name__}; {given}.")


def _is(deps: object, wanted: type) -> bool:
    try:
        return isinstance(deps, wanted)
    except TypeError:  # a protocol that cannot be checked while the program runs
        return deps is not None
