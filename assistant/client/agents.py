"""Sub-agents: an assistant as a tool of another, with its own prompt, model, tools and limits in the same run."""

from __future__ import annotations

import asyncio
import logging
import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import aclosing
from contextvars import ContextVar
from dataclasses import dataclass, replace
from typing import Any

import msgspec
import pydantic_core

from assistant.core.conversation.transcript import Transcript
from assistant.core.extensions.typed_answer import typed_as
from assistant.core.llm.protocol import Model
from assistant.core.llm.typed_output import output_of
from assistant.core.toolcalls.batch import STOPPED
from assistant.core.toolcalls.call_settings import NOBODY
from assistant.core.toolcalls.protocols import Journal, LateJournal, PlannedCall, ToolOutcome, Toolset
from assistant.core.toolcalls.run_call import ParentRun, SubAgentFailed, current_parent
from assistant.core.turn.loop import run_turn
from assistant.core.turn.plan import Fallback, Plan
from assistant.core.values import events
from assistant.core.values.events import Event, RunError, RunFinished, RunStarted
from assistant.core.values.messages import Message, ToolCall, new_id
from assistant.core.values.settings import AssistantSettings
from assistant.toolkit import Media, Tool, ToolContext, ToolError
from assistant.toolkit.logs import log_operation

logger = logging.getLogger(__name__)

# How deep sub-agents may be nested below the run's own assistant.
# A sub-agent's tools have this part of its own grace, so that it can still count its tokens.
SUB_AGENTS_GRACE = 0.8
MAX_DEPTH = 3
# Without a limit, a long turn of a sub-agent could exceed the model's context.
DEFAULT_SETTINGS = AssistantSettings(history_tokens=24_000)


@dataclass(frozen=True)
class _AgentChain:
    """The agents that wait for each other, from the run's own assistant to the innermost, and the latter's run id."""

    names: tuple[str, ...] = ()
    run_id: str | None = None


_NO_CHAIN = _AgentChain()
_chain: ContextVar[_AgentChain] = ContextVar("agent_chain", default=_NO_CHAIN)


@dataclass(frozen=True)
class Agent:
    """An assistant that other assistants can call as a tool.

    Attributes:
        name: the name of its tool.
        toolset: its tools, with the permissions of the run's user: calling an agent gives no further permission.
        input_type: type of the task: a pydantic model, a dataclass or a JSON Schema (as a mapping); None for a text.
        output_type: type of the answer, likewise; None for a text.
        title: the name for people; default `name`.
        slug: its `context.assistant` in runs of its own; default `name`.
        fallbacks: the models that take over when `model` cannot answer.
        settings: used except `on_error`, which is the run's, and the schemas, for which `input_type` and `output_type`
            are used.

    Raises:
        ValueError, InvalidTool: the `output_type` can be none.
        TypeError: the toolset, a model or the settings are none.
    """

    name: str
    description: str
    model: Model
    toolset: Toolset
    system: str = ""
    input_type: type | Mapping[str, Any] | None = None
    output_type: Any = None
    title: str = ""
    slug: str = ""
    settings: AssistantSettings = DEFAULT_SETTINGS
    fallbacks: tuple[Fallback, ...] = ()

    def __post_init__(self) -> None:
        toolset: Any = self.toolset
        # A class has these too, and no tools.
        if isinstance(toolset, type) or not (hasattr(toolset, "offered") and hasattr(toolset, "admit")):
            given = type(toolset).__name__
            raise TypeError(f"toolset of an Agent must be a Toolset, such as FixedToolset([...]), not {given}.")
        if isinstance(self.model, type) or not hasattr(self.model, "stream"):
            given = type(self.model).__name__
            raise TypeError(f"model of an Agent must be a model, such as OpenAIModel('gpt-4.1-mini'), not {given}.")
        if not isinstance(self.settings, AssistantSettings):
            raise TypeError(f"settings of an Agent must be an AssistantSettings, not {type(self.settings).__name__}.")
        for one in self.fallbacks:
            if not isinstance(one, Fallback):
                raise TypeError(f"fallbacks of an Agent must be Fallback values; {one!r} is none.")
        if self.output_type is not None:
            output_of(self.output_type)

    def as_tool(self) -> Tool:
        """Return the agent as a tool whose argument is the task and whose result is the answer."""
        agent = self

        async def ask(task: str, context: ToolContext) -> Any:
            return await agent.ask(task, context)

        async def ask_typed(task: Any, context: ToolContext) -> Any:
            return await agent.ask(pydantic_core.to_json(task).decode(), context)

        async def ask_by_schema(task: Mapping[str, Any], /, context: ToolContext) -> Any:
            return await agent.ask(pydantic_core.to_json(dict(task)).decode(), context)

        timeout = self.settings.limits.seconds or None
        if isinstance(self.input_type, Mapping):
            return Tool(
                name=self.name,
                description=self.description,
                parameters=dict(self.input_type),
                handler=ask_by_schema,
                title=self.title,
                timeout=timeout,
            )
        function: Callable[..., Any] = ask if self.input_type is None else ask_typed
        return Tool.from_function(
            function,
            name=self.name,
            description=self.description,
            input_type=self.input_type,
            title=self.title,
            timeout=timeout,
        )

    async def ask(self, task: str, context: ToolContext) -> Any:
        """Give the agent a task from within a running tool; returns its answer.

        Raises:
            ToolError: the agent failed, is itself waiting for this answer, or would be nested too deep.
            SubAgentFailed: a tool of the agent has failed, and that ends the run.
        """
        chain, parent = _chain.get(), current_parent.get()
        # Empty while the run's own assistant is at work.
        names = chain.names or (context.assistant,)
        slug = self.slug or self.name
        if slug in names:
            raise ToolError(
                f"{self.name!r} is already at work on this, and cannot be asked again by an assistant that it asked."
            )
        if len(names) > MAX_DEPTH:
            raise ToolError(f"Assistants may ask each other {MAX_DEPTH} deep at most.")
        run_id = new_id()
        log_operation(logger, context, "Asking %s, %d deep", self.name, len(names))
        token = _chain.set(_AgentChain((*names, slug), run_id))
        parent.emit(events.SubagentStarted(run_id, self.title or self.name, context.tool_call_id, chain.run_id))
        try:
            answer = await self._answer(task, context, parent, run_id)
        except asyncio.CancelledError:
            parent.emit(events.SubagentError(run_id, STOPPED))
            raise
        except (ToolError, SubAgentFailed) as exc:
            parent.emit(events.SubagentError(run_id, str(exc)))
            raise
        finally:
            _chain.reset(token)
        log_operation(logger, context, "%s has answered", self.name)
        parent.emit(events.SubagentFinished(run_id))
        return answer

    async def _answer(self, task: str, context: ToolContext, parent: ParentRun, run_id: str) -> Any:
        # The task was written by a model that has read what its run has read.
        messages = [Message("user", task, sources=parent.environment.transcript.read.sources)]
        if self.system:
            messages.insert(0, Message("system", self.system))
        return await self._run_turn(self._plan(messages, context, parent), parent, run_id, context.tool_call_id)

    def _plan(self, messages: list[Message], context: ToolContext, parent: ParentRun) -> Plan:
        calls = parent.environment.settings
        observe = calls.observe
        remaining = parent.environment.deadline.remaining()
        limits = self.settings.limits
        seconds = min(limits.seconds or remaining, remaining)
        return Plan(
            model=self.model if observe is None else observe(self.model),
            messages=tuple(messages),
            toolset=self.toolset,
            context=replace(
                context,
                assistant=self.name,
                tool_call_id="",
                config=None,
                secrets={},
                progress=None,
                untrusted=None,
                read_sources=(),
                history=(),
            ),
            settings=replace(
                self.settings,
                limits=replace(limits, seconds=seconds if math.isfinite(seconds) else 0.0),
                on_error=parent.environment.on_error,
            ),
            journal=_AgentJournal(parent.environment.journal, self.name),
            thread_id=context.thread_id,
            run_id=context.run_id,
            calls=replace(
                calls,
                grace=calls.grace * SUB_AGENTS_GRACE,
                questions=NOBODY,
                callbacks=None,
                execute=True,
                keep_ids=False,
            ),
            fallbacks=self.fallbacks
            if observe is None
            else tuple(replace(one, model=observe(one.model)) for one in self.fallbacks),
            extensions=(
                *typed_as(self.output_type, self.model),
                *(one for one in parent.environment.extensions if one.in_sub_agents),
            ),
        )

    async def _run_turn(self, plan: Plan, parent: ParentRun, run_id: str, call_id: str) -> Any:
        """Run one turn of the agent within the parent's run, as the call `call_id`; returns its answer."""
        transcript = Transcript()
        try:
            async with aclosing(run_turn(plan, transcript)) as turn:
                async for event in turn:
                    if not isinstance(event, RunStarted | RunFinished | RunError):
                        parent.emit(_attributed(event, run_id))
        except asyncio.CancelledError:
            for event in transcript.close("cancelled"):
                parent.emit(_attributed(event, run_id))
            raise
        finally:
            parent.environment.transcript.mark_result(call_id, transcript.read.sources)
            for (provider, model), usage in transcript.usage.items():
                parent.environment.transcript.add_usage(provider, model, usage)
        if isinstance(transcript.ending, RunError):
            if transcript.tool_error_id:
                raise SubAgentFailed(transcript.ending.message, transcript.tool_error_id) from transcript.failure
            raise ToolError(f"{(self.title or self.name)!r} could not finish: {transcript.ending.message}")
        return transcript.messages[-1].content if self.output_type is None else transcript.result


class _AgentJournal:
    """The run's journal, with a sub-agent's calls recorded under its name."""

    def __init__(self, journal: Journal, agent: str) -> None:
        self._journal = journal
        self._agent = agent

    async def starting(self, batch: Sequence[PlannedCall]) -> Mapping[str, ToolOutcome]:
        return await self._journal.starting([replace(planned, agent=planned.agent or self._agent) for planned in batch])

    async def keep(self, call: ToolCall, media: Sequence[Media]) -> Sequence[Mapping[str, Any]]:
        return await self._journal.keep(call, media)

    async def ended_late(self, outcome: ToolOutcome) -> None:
        if isinstance(self._journal, LateJournal):
            await self._journal.ended_late(replace(outcome, agent=outcome.agent or self._agent))

    async def finished(self, outcomes: Sequence[ToolOutcome]) -> None:
        # Transcripts of nested sub-agents are stored with the call of the run's own assistant.
        await self._journal.finished(
            [replace(outcome, agent=outcome.agent or self._agent, sub_agents=()) for outcome in outcomes]
        )


def _attributed(event: Event, run_id: str) -> Event:
    """Return the event with its sub-agent's run id; events of nested sub-agents have one already."""
    if getattr(event, "subagent_run_id", run_id) is None:
        return msgspec.structs.replace(event, subagent_run_id=run_id)
    return event
