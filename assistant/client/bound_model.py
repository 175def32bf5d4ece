"""A model with tools: what `model.with_tools(...)` returns."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from typing import Any, TypeVar, Unpack, overload

from assistant.client.call_settings import CallSettings, Prompt
from assistant.client.chat_client import ChatClient
from assistant.client.client_options import ClientOptions
from assistant.client.reply import ChatReply
from assistant.client.tool_sources import ToolSource
from assistant.core.llm.protocol import Model
from assistant.core.llm.typed_output import Mode
from assistant.core.toolcalls.protocols import Decision
from assistant.toolkit.unknown_options import unknown_options

T = TypeVar("T")


class BoundModel:
    """A model whose calls have default tools and options. It is made by `model.with_tools(...)`.

    A call's own `tools` replace the defaults; its `more_tools` are added to them. Its `context` and `options` are
    merged with the defaults, all else replaces these.

    Attributes:
        model: the model itself.
        tools: the default tools.
    """

    def __init__(self, model: Model, tools: Sequence[ToolSource], options: ClientOptions[Any]) -> None:
        self.model = model
        self.tools = tuple(tools)
        self._options = options
        if mistake := unknown_options("with_tools() has no options", options, ClientOptions.__annotations__):
            raise TypeError(mistake)
        self._client: ChatClient[Any] = ChatClient(model=model, tools=self.tools, **options)

    def with_tools(self, *tools: ToolSource, **options: Unpack[ClientOptions[Any]]) -> BoundModel:
        """Return the model with these tools beside its own, and these options in place of its own."""
        return BoundModel(self.model, (*self.tools, *tools), {**self._options, **options})

    @overload
    async def call(
        self,
        message: Prompt = None,
        *,
        output_type: type[T],
        output_mode: Mode | None = None,
        **settings: Unpack[CallSettings[Any]],
    ) -> ChatReply[T]: ...
    @overload
    async def call(self, message: Prompt = None, **settings: Unpack[CallSettings[Any]]) -> ChatReply[Any]: ...
    async def call(self, message: Prompt = None, **settings: Any) -> ChatReply[Any]:
        """Ask the model and run the tools it calls; the settings and errors are those of `ChatClient.call`."""
        return await self._client.call(message, **settings)

    @overload
    def call_sync(
        self,
        message: Prompt = None,
        *,
        output_type: type[T],
        output_mode: Mode | None = None,
        **settings: Unpack[CallSettings[Any]],
    ) -> ChatReply[T]: ...
    @overload
    def call_sync(self, message: Prompt = None, **settings: Unpack[CallSettings[Any]]) -> ChatReply[Any]: ...
    def call_sync(self, message: Prompt = None, **settings: Any) -> ChatReply[Any]:
        """Like `call`, for code without an event loop. Raises `RuntimeError` where one runs."""
        return self._client.call_sync(message, **settings)

    async def stream_text(
        self, message: Prompt = None, **settings: Unpack[CallSettings[Any]]
    ) -> AsyncGenerator[str, None]:
        """Yield the text of the answer as it arrives. Raises `RunFailed`."""
        async with aclosing(self._client.stream_text(message, **settings)) as texts:
            async for text in texts:
                yield text

    async def execute(
        self, reply: ChatReply[Any], *, decisions: Mapping[str, Decision] | None = None
    ) -> ChatReply[Any]:
        """Run the calls that a reply left to the caller; see `ChatClient.execute`."""
        run = self._client.execute
        return await run(reply, decisions=decisions)

    async def aclose(self) -> None:
        """Close the sessions with MCP servers that this event loop has open."""
        await self._client.aclose()
