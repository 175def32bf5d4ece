"""Runs one admitted tool call within its timeout, and turns its result or its exception into an outcome."""

from __future__ import annotations

import asyncio
import logging
import math
import uuid
from collections import deque
from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

import pydantic_core

from assistant.core.conversation.transcript import Transcript
from assistant.core.extensions.extension import Extension
from assistant.core.extensions.interceptors import Invocation, ToolInterceptor
from assistant.core.toolcalls.call_limits import CallLimiter
from assistant.core.toolcalls.call_settings import USUAL, CallSettings
from assistant.core.toolcalls.late_calls import LateCall, attempt
from assistant.core.toolcalls.protocols import Journal, PlannedCall, RunTakenOver, Status, ToolOutcome, Toolset
from assistant.core.toolcalls.replay import EFFECT_UNKNOWN
from assistant.core.values.asked import Asked
from assistant.core.values.deadline import Deadline
from assistant.core.values.events import Custom, Event, StateDelta, StateSnapshot
from assistant.core.values.messages import Message, not_superseded
from assistant.toolkit import ToolContext, ToolError, ToolResult
from assistant.toolkit.calls.results import cut, stored
from assistant.toolkit.calls.worker_threads import on_left_running
from assistant.toolkit.definition.failures import OnError, decide
from assistant.toolkit.definition.questions import NeedsAnswer, Question
from assistant.toolkit.logs import log_extra
from assistant.toolkit.schema.form import label_of

logger = logging.getLogger(__name__)

Emit = Callable[[Event], None]


@dataclass(frozen=True)
class CallEnvironment:
    """What all tool calls of one run share.

    Attributes:
        settings: how calls are made.
        on_error: as in the assistant's settings.
        turn_messages: the last user message and what followed it before this run; `transcript` has the run's own.
        extensions: those that act in the turn; some act in the turns of assistants that are called, too.
        late: events of calls that ended after their time; the run yields them with its next event.
    """

    toolset: Toolset
    journal: Journal
    context: ToolContext
    limiter: CallLimiter
    transcript: Transcript
    deadline: Deadline
    client_tools: frozenset[str] = frozenset()
    settings: CallSettings = USUAL
    interceptors: tuple[ToolInterceptor, ...] = ()
    on_error: OnError = "model"
    turn_messages: tuple[Message, ...] = ()
    extensions: tuple[Extension[Any], ...] = ()
    late: deque[Event] = field(default_factory=deque)


@dataclass(frozen=True)
class ParentRun:
    """The run that a tool call belongs to; its sub-agents emit their events and count their tokens there."""

    emit: Emit
    environment: CallEnvironment


current_parent: ContextVar[ParentRun] = ContextVar("current_parent")


class SubAgentFailed(Exception):
    """The failure of a sub-agent's tool ends the run; `__cause__` is what the tool raised.

    Attributes:
        error_id: the id under which it is logged.
    """

    def __init__(self, message: str, error_id: str) -> None:
        super().__init__(message)
        self.error_id = error_id


async def run_call(planned: PlannedCall, initial: ToolOutcome, environment: CallEnvironment, emit: Emit) -> ToolOutcome:
    """Run one tool once.

    Args:
        initial: the outcome as far as it is known before the call; it becomes the result with the rest filled in.
        emit: called with the events of the tool's progress.

    Raises:
        CancelledError: the call was cancelled.
        RunTakenOver: a sub-agent that the call asked found that another process has the run.
    """
    tool = planned.tool
    if tool.untrusted or tool.open_world:
        # Also of errors, whose text may come from outside too.
        initial = replace(initial, sources=(tool.title.strip() or tool.name,))
    seconds = min(
        environment.settings.default_timeout if tool.timeout is None else tool.timeout, environment.deadline.remaining()
    )
    late = LateCall(
        planned,
        initial,
        journal=environment.journal,
        events=environment.late,
        context=environment.context,
        grace=environment.settings.grace,
    )

    def emit_in_time(event: Event) -> None:
        if not late.is_over:
            emit(event)

    current_parent.set(ParentRun(emit_in_time, environment))
    on_left_running.set(late.left_running)
    edited = f"(The user changed the arguments to {planned.arguments_text})\n" if planned.is_edited else ""
    try:
        context = _context(planned, environment, seconds, emit_in_time)
        invoked = tool
        arguments = planned.arguments
        if tool.augmentation is not None:
            invoked, arguments = tool.unaugmented, tool.own_arguments(arguments)
        # In a task of its own: what the tool does with its cancellation must not decide when this call ends.
        work = asyncio.create_task(
            attempt(
                Invocation.validated(invoked, arguments, context, planned.checked, planned.fields),
                environment.interceptors,
            ),
            name=f"tool-{tool.name}",
        )
        ended = await late.in_time(work, seconds if math.isfinite(seconds) else None)
        if ended is None:
            return late.timed_out(seconds)
        if ended.error is not None:
            raise ended.error
        result = ended.result
    except ToolError as exc:
        if isinstance(exc, NeedsAnswer) and environment.settings.questions.midway:
            return _asking(planned, initial, exc.question)
        is_unknown = exc.may_have_run and not tool.read_only
        text = str(exc) or "The tool failed."
        told = cut(text)
        full = "" if told is text else stored(text)
        note = f"\n{EFFECT_UNKNOWN}" if is_unknown else ""
        status: Status = "unknown" if is_unknown else "error"
        return replace(initial, status=status, content=f"{edited}{told}{note}", error=told, full=full)
    except RunTakenOver:
        raise  # no failure of the tool, after which the model would be asked again
    except SubAgentFailed as exc:
        return _failed(initial, exc.__cause__ or exc, exc.error_id, ends_run=True)
    except (Exception, SystemExit) as exc:
        return await _unexpected_failure(planned, initial, environment, exc)
    finally:
        late.is_over = True
    if result.pending is not None:
        return replace(initial, status="pending", pending=result.pending)
    return replace(
        initial,
        status="error" if result.is_error else "ok",
        content=edited + result.content,
        display=_displayable(
            planned, environment.context, _display_of(result) if edited and result.display is None else result.display
        ),
        media=result.media,
        full=result.full,
        error=result.content if result.is_error else "",
        return_direct=tool.return_direct,
    )


def _asking(planned: PlannedCall, initial: ToolOutcome, question: Question) -> ToolOutcome:
    """Return the outcome of a call that waits for an answer, after which it is run again."""
    tool = planned.tool
    answers = (planned.decision.answers if planned.decision is not None else None) or {}
    asked = Asked(tool.title.strip() or label_of(tool.name), tool.parameters, question, answers)
    return replace(initial, status="awaiting_approval", content="", sources=(), asked=asked)


def _display_of(result: ToolResult) -> Any:
    """Return what a page shows of a result; it has no note about edited arguments, which only the model reads."""
    try:
        return pydantic_core.from_json(result.content)
    except ValueError:
        return result.content


async def _unexpected_failure(
    planned: PlannedCall, initial: ToolOutcome, environment: CallEnvironment, exc: BaseException
) -> ToolOutcome:
    error_id = uuid.uuid4().hex[:12]
    context = environment.context
    logger.error(
        "Tool %s failed in run %s of tenant %s [%s]",
        planned.tool.name,
        context.run_id,
        context.tenant.slug,
        error_id,
        exc_info=exc,
        extra=log_extra(context),
    )
    decided = await decide(exc, planned.tool.on_error, environment.on_error, tool=planned.tool.name, context=context)
    if decided.sentence is not None:
        sentence = cut(decided.sentence)
        return replace(initial, status="error", content=sentence, error=sentence, error_id=error_id)
    return _failed(initial, decided.raised or exc, error_id, ends_run=decided.raised is not None)


def _failed(initial: ToolOutcome, exc: BaseException, error_id: str, *, ends_run: bool) -> ToolOutcome:
    return replace(
        initial,
        status="error",
        content=f"The tool failed (error id {error_id}).",
        error=f"{type(exc).__name__} (error id {error_id})",
        error_id=error_id,
        ends_run=ends_run,
        exception=exc if ends_run else None,
    )


def _displayable(planned: PlannedCall, context: ToolContext, display: Any) -> Any:
    """Return the tool's `display` as JSON values; None if it has none or cannot be serialised."""
    if display is None:
        return None
    try:
        return pydantic_core.to_jsonable_python(display, fallback=str, inf_nan_mode="null")
    except Exception:  # a value's `__str__` may raise anything
        logger.exception("The display of tool %s is not JSON and left out", planned.tool.name, extra=log_extra(context))
        return None


def _context(planned: PlannedCall, environment: CallEnvironment, seconds: float, emit: Emit) -> ToolContext:
    call_id = planned.call.id
    callbacks = environment.settings.callbacks

    async def report(done: float, total: float | None, message: str) -> None:
        value: dict[str, Any] = {"toolCallId": call_id, "done": done}
        if total is not None:
            value["total"] = total
        if message:
            value["message"] = message
        emit(Custom("tool.progress", value))

    def tell_state(state: Any, operations: list[dict[str, Any]] | None) -> None:
        emit(StateSnapshot(state) if operations is None else StateDelta(operations))

    return replace(
        environment.context,
        tool_call_id=call_id,
        idempotency_key=f"{environment.context.thread_id}:{call_id}",
        deadline=datetime.now(UTC) + timedelta(seconds=seconds) if math.isfinite(seconds) else None,
        history=(*environment.turn_messages, *not_superseded(environment.transcript.messages)),
        config=planned.admission.config,
        secrets=planned.admission.secrets,
        progress=report,
        untrusted=partial(environment.transcript.mark_result, call_id),
        answers=((planned.decision and planned.decision.answers) or {})
        if environment.settings.questions.midway
        else None,
        read_sources=environment.transcript.read.sources,
        on_state=tell_state,
        own_callback=callbacks(call_id) if callbacks and planned.tool.waits else None,
    )
