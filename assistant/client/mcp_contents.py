"""Resources and prompts of MCP servers: for a program, and as tools of a model."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from assistant.core.values.messages import Message
from assistant.mcp_client import RemotePrompt, RemoteResource
from assistant.mcp_client.remote_tool import local_name
from assistant.toolkit import Tool, ToolResult
from assistant.toolkit.lazy_module import LazyModule

if TYPE_CHECKING:
    from assistant.mcp_client.session import RemoteSession

# Reads with the SDK, which is imported on first use.
_published = LazyModule("assistant.mcp_client.published")


class _Server(Protocol):
    """What is needed of an `McpServer`."""

    @property
    def prefix(self) -> str: ...
    @property
    def timeout(self) -> float: ...
    @property
    def resources(self) -> bool: ...
    @property
    def prompts(self) -> bool: ...


class McpContents:
    """What an MCP server has besides its tools, for a program. It is made by `ChatClient.mcp(server)`.

    All of it is text from outside. Every method raises `RemoteFailure`.
    """

    def __init__(
        self, session: Callable[[], Awaitable[RemoteSession]], tools: Callable[[], Awaitable[list[Tool]]]
    ) -> None:
        self._session = session
        self._tools = tools

    async def tools(self) -> list[Tool]:
        """Return the tools that a model would be offered."""
        return await self._tools()

    async def resources(self) -> list[RemoteResource]:
        """Return the resources that the server lists, and then its templates of such."""
        found: list[RemoteResource] = await (await _published.get()).list_resources(await self._session())
        return found

    async def read(self, uri: str) -> ToolResult:
        """Return a resource: `content` is its text, and `media` its files, for `files=` of a call."""
        found: ToolResult = await (await _published.get()).read_resource(await self._session(), uri)
        return found

    async def prompts(self) -> list[RemotePrompt]:
        """Return the prompts that the server lists."""
        found: list[RemotePrompt] = await (await _published.get()).list_prompts(await self._session())
        return found

    async def prompt(self, name: str, /, **arguments: str) -> list[Message]:
        """Return a prompt that is filled in, as messages to call a client with, marked as text from outside."""
        found: list[Message] = await (await _published.get()).get_prompt(await self._session(), name, arguments)
        return found


def content_tools(server: _Server, session: Callable[[Any], Awaitable[RemoteSession]]) -> list[Tool]:
    """Return the tools with which a model lists and reads the server's resources and prompts, as it offers them."""

    async def list_resources() -> Sequence[RemoteResource]:
        """List the resources (documents, records) of the external server, with the addresses to read them by."""
        found: Sequence[RemoteResource] = await (await _published.get()).list_resources(await session(server))
        return found

    async def read_resource(uri: str) -> ToolResult:
        """Read a resource of the external server by its address.

        Args:
            uri: The address, as the server lists it; variables of a template are filled in.
        """
        found: ToolResult = await (await _published.get()).read_resource(await session(server), uri)
        return found

    async def list_prompts() -> Sequence[RemotePrompt]:
        """List the prompts that the external server has prepared, with their parameters."""
        found: Sequence[RemotePrompt] = await (await _published.get()).list_prompts(await session(server))
        return found

    async def get_prompt(name: str, arguments: dict[str, str] | None = None) -> str:
        """Get a prepared prompt of the external server.

        Args:
            name: The prompt's name, as the server lists it.
            arguments: The texts for its parameters.
        """
        messages = await (await _published.get()).get_prompt(await session(server), name, arguments or {})
        return "\n\n".join(f"{message.role}: {message.content}" for message in messages)

    functions: list[Callable[..., Any]] = []
    if server.resources:
        functions += [list_resources, read_resource]
    if server.prompts:
        functions += [list_prompts, get_prompt]
    settings: Mapping[str, Any] = {"read_only": True, "idempotent": True, "untrusted": True, "timeout": server.timeout}
    return [
        Tool.from_function(function, name=local_name(server.prefix, function.__name__), **settings)
        for function in functions
    ]
