"""`ChatClient`: chats with tools, without a database."""

from __future__ import annotations

import asyncio
import math
import time
import uuid
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import replace
from functools import partial
from typing import Any, Generic, TypeVar, Unpack, overload

from pydantic import BaseModel

from assistant.client.answer_checks import Guardrails, Validators
from assistant.client.call_settings import UNCHECKED, CallSettings, Prompt, check_settings
from assistant.client.given_messages import filled_prompts, history_of, messages_of, with_files, with_system
from assistant.client.mcp_contents import McpContents
from assistant.client.mcp_servers import (
    McpHandlers,
    McpServer,
    OnLog,
    OnProgress,
    OnQuestion,
    OnSampling,
    OnToolsChanged,
    Roots,
    check_options,
)
from assistant.client.option_types import check_functions, check_types
from assistant.client.prompts import PromptTemplate
from assistant.client.reply import ChatReply, InMemoryJournal
from assistant.client.sent_requests import SentRequests
from assistant.client.sessions import EventStore, Session
from assistant.client.stores import ConversationStore, key_of, load
from assistant.client.tool_sources import Augmentations, Resolver, ToolProvider, ToolSource, ToolSources, augmented
from assistant.client.turns import (
    ReplyStream,
    Turn,
    check_decisions,
    context_of,
    execute_calls,
    observed,
    stream_text,
    stream_typed,
    thread_id_of,
)
from assistant.core.conversation.summary import summarise
from assistant.core.extensions.asides import model_for_asides
from assistant.core.extensions.extension import Extension, Interceptors, acting, checked_extensions
from assistant.core.extensions.interceptors import InterceptedModel, ModelInterceptor, ToolInterceptor
from assistant.core.extensions.request_choice import RequestChoice
from assistant.core.extensions.typed_answer import TypedAnswer
from assistant.core.llm.protocol import Model
from assistant.core.llm.typed_output import Mode, OutputType, output_of
from assistant.core.toolcalls.call_settings import CallSettings as CallingSettings
from assistant.core.toolcalls.protocols import Decision, FixedToolset
from assistant.core.turn.plan import Fallback, Plan
from assistant.core.values.limits import Limits
from assistant.core.values.messages import Message, unanswered_calls
from assistant.core.values.settings import AssistantSettings
from assistant.mcp_client import LogLevel
from assistant.toolkit import ToolContext
from assistant.toolkit.context import Deps
from assistant.toolkit.definition.results import ResultConverter, takes_type

T = TypeVar("T")

# Fits the context of most models. Without a limit the prompt would grow until the provider refuses it.
HISTORY_TOKENS = 100_000


class ChatClient(Generic[Deps]):
    """Chats with a model, and runs the tools it calls.

    Args:
        model: the model that answers.
        fallback: a model, or several in this order, that take over when the one before is too busy, too slow, failing
            or without credit before it has answered anything.
        system: the system prompt. It is a template if there are `variables`, or if it is a `PromptTemplate`.
        variables: default values of the variables in templates; a call's own are merged over them.
        tools: the default tools: `Tool` values, plain functions, names that `resolvers` know, `McpServer` values,
            agents, objects and classes with methods that are tools, modules, mappings of names to functions, and lists
            of all these. Or a function of the call's context that returns them: it is asked at each call.
        deps: the default dependencies of tools, which they find as `context.deps`.
        context: for the tools: `tenant` and `user` (a `TenantInfo` and a `UserInfo`, or mappings of their fields), and
            anything else, which tools find in `context.extra`. Tools cannot change dicts, lists and sets in it.
        limits: how much one turn may use.
        options: more parameters for the provider, such as `temperature`.
        history_tokens: how many tokens of the conversation are sent to the model, as estimated; 0 for all.
        history_messages: how many messages of it are sent; 0 for all.
        configs: settings of tools, by tool name: values of their `config`, or mappings of its fields.
        secrets: secrets of tools, by tool name and then by secret name; each gets those that it declares.
        resolvers: look up tools that are given by name, in this order.
        store: stores the conversations of calls with `conversation`. Loading one is part of the turn's time.
        search_over: with more tools than this, the model searches for tools instead of seeing them all; 0 for never.
        interceptors: wrap every tool call, the first outermost.
        model_interceptors: wrap every request to the model, the first outermost.
        input_guardrails: called with the user's message and the context before the model is asked; one that raises
            `GuardrailTripped` ends the turn.
        output_guardrails: the same with the text of the answer.
        output_validators: called with the answer and the context, and return the answer. The model reads a `ToolError`
            that one raises, and answers again, at most twice.
        result_converter: converts the results of tools that have no converter of their own; as `Tool.result_converter`.
        augmentation: a pydantic model of fields that the model fills in each call, such as why it calls, of tools that
            have none of their own; `CalledTool.fields` of the reply has them, and tools never get them. Or a function
            of the call's context that returns one, such as the tenant's, or None.
        on_question: called with what an MCP server asks people during a call and the call's context, and returns the
            answer, which fits `question.schema`, or None. Without it servers learn that nobody can be asked.
        on_tools_changed: called with an `McpServer` and its tools when it lists others than before. A server that
            announces no changes is asked again at the first call after a minute.
        on_progress: called with the `Progress` of a call of an MCP server's tool and the call's context.
        on_log: called with a `ServerLog` of an MCP server and the context of its call, or None. Without it servers are
            not asked for their logs.
        log_level: what `on_log` gets, and all that is more severe.
        on_sampling: called with a `SamplingRequest`, in which an MCP server wants an answer of a model, and the call's
            context; returns the answer, or None to refuse. Without it servers learn that they cannot ask.
        roots: folders that MCP servers are told, as absolute paths or `file://` addresses. Without them servers learn
            that there are none to ask for.
        extensions: parts of a turn of your own, each one object with hooks (docs/extensions.md), in their order.

    Functions that are handed in may be async; others run in a thread.

    Raises:
        InvalidTool: a tool's settings are not valid; `call` raises it too, for the tools of that call.
        TypeError: a function cannot be called with the two arguments that it gets; as `InvalidExtension`, something in
            `extensions` is none, or two have one name.
    """

    def __init__(
        self,
        *,
        model: Model,
        fallback: Model | Sequence[Model] = (),
        system: str | PromptTemplate = "",
        variables: Mapping[str, Any] | None = None,
        tools: ToolProvider | ToolSource = (),
        deps: Deps | None = None,
        context: Mapping[str, Any] | None = None,
        limits: Limits | None = None,
        options: Mapping[str, Any] | None = None,
        history_tokens: int = HISTORY_TOKENS,
        history_messages: int = 0,
        configs: Mapping[str, Any] | None = None,
        secrets: Mapping[str, Mapping[str, str]] | None = None,
        resolvers: Sequence[Resolver] = (),
        store: ConversationStore | None = None,
        search_over: int = 0,
        interceptors: Sequence[ToolInterceptor] = (),
        model_interceptors: Sequence[ModelInterceptor] = (),
        input_guardrails: Sequence[Callable[[str, ToolContext[Deps]], Awaitable[None] | None]] = (),
        output_guardrails: Sequence[Callable[[str, ToolContext[Deps]], Awaitable[None] | None]] = (),
        output_validators: Sequence[Callable[[Any, ToolContext[Deps]], Any]] = (),
        result_converter: ResultConverter | None = None,
        augmentation: Augmentations | None = None,
        on_question: OnQuestion | None = None,
        on_tools_changed: OnToolsChanged | None = None,
        on_progress: OnProgress | None = None,
        on_log: OnLog | None = None,
        log_level: LogLevel = "info",
        on_sampling: OnSampling | None = None,
        roots: Roots | None = None,
        extensions: Iterable[Extension[Any]] = (),
    ) -> None:
        check_types(
            variables=variables,
            context=context,
            limits=limits,
            options=options,
            history_tokens=history_tokens,
            history_messages=history_messages,
            configs=configs,
            secrets=secrets,
            resolvers=resolvers,
            search_over=search_over,
            interceptors=interceptors,
            model_interceptors=model_interceptors,
            input_guardrails=input_guardrails,
            output_guardrails=output_guardrails,
            output_validators=output_validators,
            extensions=extensions,
            model=model,
            fallback=fallback,
            store=store,
            system=system,
        )
        check_functions(
            2,
            input_guardrails=input_guardrails,
            output_guardrails=output_guardrails,
            output_validators=output_validators,
            interceptors=interceptors,
            model_interceptors=model_interceptors,
            on_question=[] if on_question is None else [on_question],
            on_tools_changed=[] if on_tools_changed is None else [on_tools_changed],
            on_progress=[] if on_progress is None else [on_progress],
            on_log=[] if on_log is None else [on_log],
            on_sampling=[] if on_sampling is None else [on_sampling],
        )
        if result_converter is not None and not takes_type(result_converter):
            check_functions(1, result_converter=[result_converter])
        if roots is not None or log_level != "info":
            check_options(log_level, roots)
        models = [model, *(fallback if isinstance(fallback, Sequence) else [fallback])]
        if model_interceptors:
            models = [InterceptedModel(one, model_interceptors) for one in models]
        self.model = models[0]
        self._fallbacks = tuple(Fallback(one) for one in models[1:])
        self._output_mode: Mode = getattr(model, "output_mode", "native")
        self.system = system
        self._variables = dict(variables or {})
        self._context = dict(context or {})
        self._settings = AssistantSettings(limits or Limits(), dict(options or {}), history_tokens, history_messages)
        self._store = store
        shipped: list[Extension[Any]] = []
        if interceptors:
            shipped.append(Interceptors(interceptors))
        if output_validators:
            shipped.append(Validators(output_validators))
        if input_guardrails or output_guardrails:
            shipped.append(Guardrails(input_guardrails, output_guardrails))
        self._extensions = checked_extensions((*shipped, *extensions))
        self._deps = deps
        self._tools = ToolSources(
            tools,
            resolvers=resolvers,
            configs=configs,
            secrets=secrets,
            search_over=search_over,
            result_converter=result_converter,
            augmentation=augmentation,
            mcp_handlers=McpHandlers(
                on_question=on_question,
                on_tools_changed=on_tools_changed,
                on_progress=on_progress,
                on_log=on_log,
                log_level=log_level,
                on_sampling=on_sampling,
                roots=roots,
            ),
        )

    async def aclose(self) -> None:
        """Close the sessions with MCP servers that this event loop has open. They would be closed with it anyway."""
        await self._tools.close()

    def mcp(self, server: McpServer) -> McpContents:
        """Return what lists and reads an MCP server's resources and prompts, in the client's session with it."""
        servers = self._tools.mcp
        return McpContents(partial(servers.session, server), partial(servers.of, server))

    @overload
    async def call(
        self,
        message: Prompt = None,
        *,
        output_type: type[T],
        output_mode: Mode | None = None,
        **settings: Unpack[CallSettings[Deps]],
    ) -> ChatReply[T]: ...
    @overload
    async def call(self, message: Prompt = None, **settings: Unpack[CallSettings[Deps]]) -> ChatReply[Any]: ...
    async def call(
        self,
        message: Prompt = None,
        *,
        output_type: type[Any] | None = None,
        output_mode: Mode | None = None,
        **settings: Unpack[CallSettings[Deps]],
    ) -> ChatReply[Any]:
        """Ask the model, run the tools it calls, and return its answer.

        Args:
            message: a text, or messages; None to continue from the history.
            output_type: the type of `reply.output`, or a JSON Schema of an object.
            output_mode: how the model is asked for it; by default the best way that it supports.

        Raises:
            RunFailed: the provider failed, a limit was reached, or no answer fitted `output_type`.
            ValueError: there is no message, a `conversation` without a store, or a file that cannot be sent.
            UnknownTool: no tool has a given name.
            PromptVariables: a template's variable has no value, or a variable of the call is in no template.
        """
        output = None if output_type is None else output_of(output_type)
        return await (await self._turn(message, settings, output, output_mode)).finish()

    @overload
    def call_sync(
        self,
        message: Prompt = None,
        *,
        output_type: type[T],
        output_mode: Mode | None = None,
        **settings: Unpack[CallSettings[Deps]],
    ) -> ChatReply[T]: ...
    @overload
    def call_sync(self, message: Prompt = None, **settings: Unpack[CallSettings[Deps]]) -> ChatReply[Any]: ...
    def call_sync(self, message: Prompt = None, **settings: Any) -> ChatReply[Any]:
        """Like `call`, for code without an event loop. Raises `RuntimeError` where one runs."""
        try:
            asyncio.get_running_loop()
        except RuntimeError:
            return asyncio.run(self.call(message, **settings))
        raise RuntimeError("An event loop runs here: await `call` instead.")

    def stream(
        self,
        message: Prompt = None,
        *,
        output_type: Any = None,
        output_mode: Mode | None = None,
        **settings: Unpack[CallSettings[Deps]],
    ) -> ReplyStream:
        """Like `call`, but return a stream of events. A failure is not raised: it is the last event, `RUN_ERROR`.

        With an `output_type` there are `output.partial` events while the answer grows, and the `result` of
        `RUN_FINISHED` is the answer as JSON values.
        """
        output = None if output_type is None else output_of(output_type)
        return ReplyStream(lambda: self._turn(message, settings, output, output_mode))

    async def stream_text(
        self, message: Prompt = None, **settings: Unpack[CallSettings[Deps]]
    ) -> AsyncGenerator[str, None]:
        """Yield the text of the answer as it arrives. Raises `RunFailed`, as `call` does."""
        async with aclosing(stream_text(await self._turn(message, settings, None, None))) as texts:
            async for text in texts:
                yield text

    async def stream_typed(
        self,
        message: Prompt = None,
        *,
        output_type: type[T],
        output_mode: Mode | None = None,
        **settings: Unpack[CallSettings[Deps]],
    ) -> AsyncGenerator[T, None]:
        """Yield partial values of the answer while it grows, if they fit `output_type`, and then the whole value.

        If the answer does not fit, the model is asked again as in `call`, and the values start over.

        Raises:
            RunFailed: as `call` does.
        """
        output: OutputType[T] = output_of(output_type)
        turn = await self._turn(message, settings, output, output_mode)
        async with aclosing(stream_typed(turn, output)) as values:
            async for value in values:
                yield value

    async def compact(self, history: Sequence[Message], *, tokens: int) -> list[Message]:
        """Summarise the older part of a long conversation, for the `history` of the next call. Raises `ModelError`."""
        acting_here = acting(self._extensions, context_of(self._context, "", ""), history)
        return await summarise(model_for_asides(self.model, acting_here), history, tokens=tokens)

    def session(self, conversation: str, *, context: Mapping[str, Any] | None = None) -> Session:
        """Return a conversation in the client's store: its events, and compactions that can be undone.

        Args:
            context: as of a call; the tenant and the user in it say whose conversation it is.

        Raises:
            ValueError: the client has no `EventStore`.
        """
        if not isinstance(self._store, EventStore):
            raise ValueError("Sessions need an EventStore as the client's store, such as InMemoryStore().")
        values = context_of({**self._context, **(context or {})}, conversation, "")
        model = model_for_asides(self.model, acting(self._extensions, values, ()))
        return Session(self._store, key_of(conversation, values), model)

    async def execute(
        self, reply: ChatReply[Any], *, decisions: Mapping[str, Decision] | None = None
    ) -> ChatReply[Any]:
        """Run the calls that a reply left to the caller, with the tools and the context of its own call.

        Args:
            decisions: the decisions on calls that need approval, by call id.

        Returns:
            The reply with the results. Pass its `messages` as `history` to the next call.

        Raises:
            ValueError: the reply was not made by a client, or a decision is on none of its calls.
        """
        return await execute_calls(reply, decisions)

    async def _turn(
        self,
        message: Prompt,
        settings: CallSettings[Deps],
        output: OutputType[Any] | None,
        mode: Mode | None,
    ) -> Turn:
        if mode is not None or settings.keys() - UNCHECKED:
            check_settings(settings, mode)
        system = settings.get("system", self.system)
        if (
            isinstance(system, PromptTemplate)
            or isinstance(message, PromptTemplate)
            or self._variables
            or "variables" in settings
        ):
            system, message = filled_prompts(system, message, settings.get("variables", {}), self._variables)
        conversation = settings.get("conversation", "")
        if conversation and self._store is None:
            raise ValueError("Give the client a store to keep conversations in.")
        store = self._store if conversation else None
        run_id = uuid.uuid4().hex
        context = replace(
            context_of({**self._context, **(settings.get("context") or {})}, conversation or run_id, run_id),
            deps=settings.get("deps", self._deps),
        )
        key = key_of(conversation, context) if store is not None else None
        limits, began = settings.get("limits", self._settings.limits), time.monotonic()
        stored: Sequence[Message]
        augmentation: type[BaseModel] | None = None
        try:
            async with asyncio.timeout(limits.seconds or None) as limit:
                toolset, tools, augmentation = await self._tools.toolset(
                    settings.get("tools"), context, settings.get("more_tools")
                )
                stored = await load(store, key) if store is not None and key is not None else ()
        except TimeoutError:
            if not limit.expired():
                raise
            # The turn fails at its beginning: no time is left.
            toolset = FixedToolset([])
            tools = []
            stored = ()
            store = None
        before = history_of(settings["history"]) if "history" in settings else ()
        new = (*before, *messages_of(message))
        if "files" in settings:
            new = with_files(new, settings["files"])
        sent = (*stored, *new)
        if not sent and not limit.expired():
            raise ValueError("There is nothing to answer.")
        if "decisions" in settings and not limit.expired():
            check_decisions(settings["decisions"], sent)
        client_tools = settings.get("client_tools", ())
        if augmentation is not None:
            client_tools = augmented(client_tools, augmentation)
        fields: dict[str, frozenset[str]] = {}
        for tool in (*tools, *client_tools):
            if tool.augmentation is not None:
                fields[tool.name] = tool.field_names
        journal = InMemoryJournal(fields)
        thread_id = conversation or (thread_id_of(sent) if unanswered_calls(sent) else run_id)
        context = replace(context, thread_id=thread_id)
        messages = with_system(sent, system)
        choice = settings.get("tool_choice")
        of_call = (
            *((TypedAnswer(output, mode or self._output_mode),) if output is not None else ()),
            *((RequestChoice(choice),) if choice else ()),
        )
        plan = Plan(
            model=self.model,
            messages=messages,
            toolset=toolset,
            context=context,
            settings=replace(
                self._settings,
                limits=limits,
                options={**self._settings.options, **settings.get("options", {})},
                on_error=settings.get("on_error", "model"),
            ),
            client_tools=client_tools,
            decisions=settings.get("decisions", {}),
            journal=journal,
            thread_id=thread_id,
            run_id=run_id,
            calls=CallingSettings(execute=settings.get("execute_tools", True), keep_ids=True),
            fallbacks=self._fallbacks,
            extensions=(*of_call, *acting(self._extensions, context, messages), SentRequests()),
            spent_seconds=time.monotonic() - began,
        )
        until = began + (limits.seconds or math.inf)
        return await observed(Turn(plan, journal, sent, new, store, key, until))
