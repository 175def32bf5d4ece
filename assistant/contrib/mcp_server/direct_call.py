"""Calls one tool for a member outside of a run, with the same policy, limits, timeouts and audit as within one."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from assistant.contrib.mcp_server.direct_journal import CallJournal
from assistant.core.conversation.transcript import Transcript
from assistant.core.extensions.interceptors import CallTool, Invocation
from assistant.core.toolcalls.admission import CallLimiter
from assistant.core.toolcalls.batch import Batch
from assistant.core.toolcalls.call_settings import CallSettings, Questions
from assistant.core.toolcalls.protocols import Admission, Decision, ToolOutcome
from assistant.core.toolcalls.run_call import CallEnvironment
from assistant.core.values.deadline import Deadline
from assistant.core.values.events import Custom
from assistant.core.values.limits import Limits
from assistant.core.values.messages import ToolCall
from assistant.core.values.untrusted import NOTHING_READ, ReadText
from assistant.services.db.threads import in_database
from assistant.services.tenancy.members import Member, set_acting_key
from assistant.services.toolcalls.interceptors import report_incident, tool_interceptors
from assistant.services.toolpolicy.policy import effective_tools
from assistant.services.toolpolicy.toolset import TenantToolset
from assistant.toolkit import Tool, ToolContext, ToolResult
from assistant.toolkit.definition.conditions import offered_tools
from assistant.toolkit.logs import run_log_context

__all__ = ["CalledTool", "Decision", "TooManyCalls", "ToolCall", "call_tool", "context_of", "tools_for"]

# Also for tools with a longer timeout of their own.
MAX_CALL_SECONDS = 300.0

# Concurrent calls of one member in this process, so that one member cannot take all tool threads. Further ones wait.
MAX_CALLS = 8
# How many may wait, and how long: clients give up after a minute by default.
MAX_WAITING, WAIT_SECONDS = 100, 50.0

OnProgress = Callable[[float, float | None, str], Awaitable[None]]


class TooManyCalls(Exception):
    """Too many calls of the member run and wait already; the message can be shown to the member."""


@dataclass(slots=True)
class _Places:
    """The places of one member's calls."""

    free: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(MAX_CALLS))
    users: int = 0


_places: dict[tuple[Any, Any], _Places] = {}


@dataclass(frozen=True, slots=True)
class CalledTool:
    """The result of `call_tool`.

    `tool` is None if the member may use no tool of that name. If that is because its server is unavailable, or because
    operators have switched it off for everyone, `outage` says so.
    `result` is what the tool returned, or None if it did not run or raised.
    """

    outcome: ToolOutcome
    tool: Tool | None = None
    result: ToolResult | None = None
    outage: str = ""


class _RecordingToolset(TenantToolset):
    """A toolset that keeps the tool that it admitted, or the outage of its server, for the caller."""

    tool: Tool | None = None
    outage: str = ""

    async def admit(self, calls: Sequence[ToolCall], read: ReadText = NOTHING_READ) -> Sequence[Admission]:
        admissions = await super().admit(calls, read)
        self.tool = next((admission.tool for admission in admissions if admission.policy != "off"), None)
        self.outage = next((_outage(admission) for admission in admissions), "")
        return admissions


def _outage(admission: Admission) -> str:
    return admission.outage if admission.switched_off is None else admission.switched_off.for_model


@dataclass(slots=True)
class _ResultRecorder:
    """The outermost interceptor: keeps the result that all others have passed on."""

    result: ToolResult | None = field(default=None, repr=False)

    async def __call__(self, invocation: Invocation, call: CallTool) -> ToolResult:
        self.result = await call(invocation)
        return self.result


async def tools_for(*, member: Member) -> list[Tool]:
    """Return the tools that the member may call outside of an assistant, in the catalogue's order."""
    found = await in_database(effective_tools, tenant_id=member.tenant_id, user_id=member.user_id, assistant_id=None)
    offered = await offered_tools([entry.tool for entry in found if entry.policy != "off"], context_of(member))
    # Outside of a conversation no form can be shown, no run continues later, and providers run no tools.
    return [tool for tool in offered if tool.asks is None and not tool.waits and not tool.is_provider_side]


def context_of(member: Member, extra: Mapping[str, Any] | None = None) -> ToolContext:
    """Return the context of a call outside of a run. It holds nothing that the client sent."""
    return ToolContext(tenant=member.tenant, user=member.user, extra=extra or {})


async def call_tool(
    *,
    member: Member,
    call: ToolCall,
    decision: Decision | None = None,
    can_ask: bool = False,
    extra: Mapping[str, Any] | None = None,
    on_progress: OnProgress | None = None,
) -> CalledTool:
    """Apply the policy to a call, run it and record it.

    If the caller is cancelled, the tool is cancelled without waiting for it, and its end is still recorded.

    Args:
        decision: a person's answer, if the call waited for approval.
        can_ask: whether a person can be asked; if so the outcome may be `awaiting_approval`, with a question in `asked`
            if the tool's external server asks one.
        extra: added to the tool's context.
        on_progress: called with the tool's progress (done, total, message), in order.

    Raises:
        TooManyCalls: too many calls of the member run and wait already, or none of them ended in `WAIT_SECONDS`.
    """
    leave = await _take_place(member)
    task = asyncio.create_task(
        _call(member, call, decision, can_ask=can_ask, extra=extra, on_progress=on_progress),
        name=f"call-{call.name[:64]}",
    )
    # Not when the caller is cancelled, because the tool's thread may still run.
    task.add_done_callback(lambda _: leave())
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        task.cancel()
        raise


async def _take_place(member: Member) -> Callable[[], None]:
    """Wait for one of the member's places, in the order of asking. Return a function that leaves it."""
    key = (member.tenant_id, member.user_id)
    places = _places.setdefault(key, _Places())
    if places.users >= MAX_CALLS + MAX_WAITING:
        raise TooManyCalls(f"You have {MAX_CALLS} calls running and {MAX_WAITING} waiting. Wait until some have ended.")
    places.users += 1

    def forget() -> None:
        places.users -= 1
        if not places.users:
            del _places[key]

    def leave() -> None:
        places.free.release()
        forget()

    try:
        async with asyncio.timeout(WAIT_SECONDS):
            await places.free.acquire()
    except BaseException as exc:
        forget()
        if isinstance(exc, TimeoutError):
            raise TooManyCalls(f"You have {MAX_CALLS} calls running. Wait until one of them has ended.") from None
        raise
    return leave


async def _call(
    member: Member,
    call: ToolCall,
    decision: Decision | None,
    *,
    can_ask: bool,
    extra: Mapping[str, Any] | None,
    on_progress: OnProgress | None,
) -> CalledTool:
    set_acting_key(member.key_id)
    recorder = _ResultRecorder()
    deadline = Deadline(MAX_CALL_SECONDS)
    toolset = _RecordingToolset(tenant_id=member.tenant_id, user_id=member.user_id, assistant_id=None)
    environment = CallEnvironment(
        toolset=toolset,
        journal=CallJournal(member),
        context=context_of(member, extra),
        limiter=CallLimiter(Limits()),
        transcript=Transcript(),
        deadline=deadline,
        settings=CallSettings(
            questions=Questions(can_ask=can_ask, has_forms=False, midway=can_ask), on_raised=report_incident
        ),
        interceptors=(recorder, *tool_interceptors()),
    )
    batch = Batch([call], environment, None if decision is None else {call.id: decision})
    try:
        with run_log_context(environment.context):
            await _run(batch, on_progress)
    finally:
        deadline.close()
    return CalledTool(batch.outcomes[call.id], toolset.tool, recorder.result, toolset.outage)


async def _run(batch: Batch, on_progress: OnProgress | None) -> None:
    async with contextlib.aclosing(batch.run()) as events:
        async for event in events:
            if isinstance(event, Custom) and event.name == "tool.progress" and on_progress is not None:
                progress = event.value
                await on_progress(progress["done"], progress.get("total"), progress.get("message", ""))
