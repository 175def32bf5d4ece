"""Tools on a model itself: `model.with_tools(...)` and `await model.call(...)`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar, Unpack, overload

from assistant.toolkit.lazy_module import LazyModule

if TYPE_CHECKING:
    from assistant.client.bound_model import BoundModel
    from assistant.client.call_settings import CallSettings, Prompt
    from assistant.client.client_options import ClientOptions
    from assistant.client.reply import ChatReply
    from assistant.client.tool_sources import ToolSource
    from assistant.core.llm.protocol import Model
    from assistant.core.llm.typed_output import Mode

T = TypeVar("T")

# The client stands above the models that it asks; a model needs it only where a program calls the model itself.
_client = LazyModule("assistant.client.bound_model")


class CallsTools:
    """Lets a program call a model without a `ChatClient` of its own."""

    def with_tools(self: Model, *tools: ToolSource, **options: Unpack[ClientOptions[Any]]) -> BoundModel:
        """Return the model with tools: defaults of its calls.

        Args:
            tools, options: as `ChatClient` takes them, such as `context`, `deps`, `limits` and `resolvers`.

        Raises:
            TypeError: an option is unknown, or of another type; the message lists those that there are.
            InvalidTool: something brings no tool.
        """
        bound: BoundModel = _client.load().BoundModel(self, tools, options)
        return bound

    @overload
    async def call(
        self: Model,
        message: Prompt = None,
        *,
        output_type: type[T],
        output_mode: Mode | None = None,
        **settings: Unpack[CallSettings[Any]],
    ) -> ChatReply[T]: ...
    @overload
    async def call(self: Model, message: Prompt = None, **settings: Unpack[CallSettings[Any]]) -> ChatReply[Any]: ...
    async def call(self: Model, message: Prompt = None, **settings: Any) -> ChatReply[Any]:
        """Ask the model, run the tools it calls, and return its answer.

        Args:
            message, settings: as `ChatClient.call` takes them, such as `tools`, `context` and `execute_tools`.

        Raises:
            RunFailed: the provider failed, or a limit was reached.
        """
        module = await _client.get()
        reply: ChatReply[Any] = await module.BoundModel(self, (), {}).call(message, **settings)
        return reply
