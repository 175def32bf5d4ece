"""What a model with tools takes of a client, for type checkers."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Generic, TypedDict

from assistant.toolkit.context import Deps

if TYPE_CHECKING:
    from assistant.client.mcp_servers import OnLog, OnProgress, OnQuestion, OnSampling, OnToolsChanged, Roots
    from assistant.client.prompts import PromptTemplate
    from assistant.client.stores import ConversationStore
    from assistant.client.tool_sources import Augmentations, Resolver
    from assistant.core.extensions.extension import Extension
    from assistant.core.extensions.interceptors import ModelInterceptor, ToolInterceptor
    from assistant.core.llm.protocol import Model
    from assistant.core.values.limits import Limits
    from assistant.mcp_client import LogLevel
    from assistant.toolkit import ToolContext
    from assistant.toolkit.definition.results import ResultConverter


class ClientOptions(TypedDict, Generic[Deps], total=False):
    """The options of `ChatClient`, which says what each does, but for the model and the tools."""

    fallback: Model | Sequence[Model]
    system: str | PromptTemplate
    variables: Mapping[str, Any] | None
    deps: Deps | None
    context: Mapping[str, Any] | None
    limits: Limits | None
    options: Mapping[str, Any] | None
    history_tokens: int
    history_messages: int
    configs: Mapping[str, Any] | None
    secrets: Mapping[str, Mapping[str, str]] | None
    resolvers: Sequence[Resolver]
    store: ConversationStore | None
    search_over: int
    interceptors: Sequence[ToolInterceptor]
    model_interceptors: Sequence[ModelInterceptor]
    input_guardrails: Sequence[Callable[[str, ToolContext[Deps]], Awaitable[None] | None]]
    output_guardrails: Sequence[Callable[[str, ToolContext[Deps]], Awaitable[None] | None]]
    output_validators: Sequence[Callable[[Any, ToolContext[Deps]], Any]]
    result_converter: ResultConverter | None
    augmentation: Augmentations | None
    on_question: OnQuestion | None
    on_tools_changed: OnToolsChanged | None
    on_progress: OnProgress | None
    on_log: OnLog | None
    log_level: LogLevel
    on_sampling: OnSampling | None
    roots: Roots | None
    extensions: Iterable[Extension[Any]]
