"""Runs one admitted tool call within its timeout, and turns its result or its exception into an outcome.

Some calls end after their time: Python cannot stop the threads of sync tools, and async tools can ignore that they were
stopped, or wait for threads and shielded tasks that go on. All of these may still take effect.
"""

from __future__ import annotations

import asyncio
import contextvars
import logging
import math
import time
import uuid
from collections import deque
from collections.abc import Awaitable, Callable, Mapping
from concurrent.futures import Future
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

import pydantic_core

from assistant.core.conversation.transcript import Transcript
from assistant.core.extensions.extension import Extension
from assistant.core.extensions.interceptors import Invocation, ToolInterceptor, invoke, watching
from assistant.core.toolcalls.admission import CallLimiter
from assistant.core.toolcalls.call_settings import USUAL, CallSettings, OnRaised
from assistant.core.toolcalls.protocols import (
    EFFECT_UNKNOWN,
    Journal,
    LateJournal,
    PlannedCall,
    RunTakenOver,
    Status,
    ToolOutcome,
    Toolset,
)
from assistant.core.values.asked import Asked
from assistant.core.values.deadline import Deadline
from assistant.core.values.events import Custom, Event, StateDelta, StateSnapshot
from assistant.core.values.messages import Message, not_superseded
from assistant.toolkit import InvalidTool, ToolContext, ToolError, ToolResult
from assistant.toolkit.calls.call import cut, stored
from assistant.toolkit.calls.stopping import stop
from assistant.toolkit.calls.worker_threads import on_left_running
from assistant.toolkit.definition.failures import OnError, decide
from assistant.toolkit.definition.questions import NeedsAnswer, Question
from assistant.toolkit.errors import errors_in, told_by
from assistant.toolkit.logs import log_extra
from assistant.toolkit.schema.form import label_of
from assistant.toolkit.text import clean_text

logger = logging.getLogger(__name__)


# What a late end says of a tool that was stopped and only reads.
STOPPED = "It was stopped."
# Tasks that record late outcomes; asyncio itself keeps only weak references to tasks.
_recording: set[asyncio.Task[None]] = set()


@dataclass(frozen=True, slots=True)
class Attempt:
    """How the run of a tool has ended: its result, or what it raised."""

    result: ToolResult = field(default_factory=ToolResult)
    error: BaseException | None = None


async def attempt(
    call: Callable[[], Awaitable[ToolResult]], name: str, context: ToolContext, on_raised: OnRaised | None
) -> Attempt:
    """Run the tool of a name by its call. Raises `CancelledError` alone."""
    try:
        try:
            result = await call()
        except Exception as exc:
            if on_raised is not None:
                await on_raised(exc, name, context)
            raise
        if result.pending is not None and context.own_callback is None:
            raise InvalidTool(f"Tool {name!r} returned Pending, and is not declared with waits=True.")
    except (Exception, SystemExit) as exc:  # a task that raises the latter would end the event loop
        taken_over = next((one for one in errors_in(exc) if isinstance(one, RunTakenOver)), None)
        return Attempt(error=taken_over or told_by(exc))
    return Attempt(result)


@dataclass(eq=False, slots=True)
class LateCall:
    """A call that may end after its time.

    Attributes:
        initial: the outcome as far as it is known before the call.
        is_over: whether the call has its outcome; the run does not listen to the tool any more.
    """

    planned: PlannedCall
    initial: ToolOutcome
    environment: CallEnvironment
    is_over: bool = False
    _left: Future[Any] | asyncio.Task[Attempt] | None = None
    _late: Attempt | None = None
    _began: float = field(default_factory=time.perf_counter)

    async def end_cancelled(self, work: asyncio.Task[Attempt]) -> Attempt | None:
        """Stop a tool whose call was cancelled. Returns how it has ended if it did so by itself, else None."""
        if await self._stop(work) and not work.cancelled():
            return work.result()
        if self._left is not None:
            self._wait_for_end(self._left)
        return None

    async def end_in_time(self, work: asyncio.Task[Attempt]) -> Attempt | None:
        """Stop a tool whose time is up. Returns how it has ended if it failed just then; None if it took too long."""
        if await self._stop(work) and not work.cancelled():
            ended = work.result()
            if ended.error is not None and not isinstance(ended.error, TimeoutError):
                return ended
            self._late = ended if ended.error is None else None
        return None

    async def _stop(self, work: asyncio.Task[Attempt]) -> bool:
        try:
            return await stop(work, self.environment.settings.grace)
        finally:
            if not work.done():
                self._left = work
                self._log(
                    "goes on %.3g seconds after it was stopped, and is not waited for", self.environment.settings.grace
                )

    def left_running(self, result: Future[Any]) -> None:
        """Note that the function of the call runs on in its thread."""
        self._left = result

    def timed_out(self, seconds: float) -> ToolOutcome:
        """Return the outcome of a call that took longer than its time, and wait for its late end."""
        sentence = f"The tool {self.planned.tool.name!r} took longer than {seconds:.3g} seconds"
        if self._late is not None:
            sentence += " and was not waited for. It has completed since: do not assume that it has failed."
            self._ended(self._late)
        elif self._left is None:
            sentence += self._stopped
        else:
            sentence += " and was not waited for. It still runs, and may complete: do not assume that it has failed."
            self._wait_for_end(self._left)
        return replace(self.initial, status="timeout", content=sentence, error=sentence)

    @property
    def _stopped(self) -> str:
        """What the model reads of a tool whose task has ended; threads and shielded tasks of it may go on unseen."""
        if self.planned.tool.read_only:
            return " and was stopped."
        return f" and was not waited for any longer. {EFFECT_UNKNOWN}"

    def _wait_for_end(self, left: Future[Any] | asyncio.Task[Attempt]) -> None:
        if isinstance(left, asyncio.Task):
            left.add_done_callback(lambda task: self._ended(None if task.cancelled() else task.result()))
        else:
            left.add_done_callback(_on_loop(lambda result: self._ended(_attempt_of(result))))

    def _ended(self, late: Attempt | None) -> None:
        """Record the late end, and emit its event if the run still goes on. None: the tool was stopped after all."""
        outcome = self._outcome(late)
        self._log("ended %.3g seconds after its beginning (%s)", outcome.duration_ms / 1000, outcome.status)
        value: dict[str, Any] = {
            "toolCallId": outcome.call.id,
            "name": outcome.call.name,
            "status": outcome.status,
            "durationMs": outcome.duration_ms,
            "content": outcome.content,
        }
        self.environment.late.append(Custom("tool.late", value))
        task = asyncio.get_running_loop().create_task(self._record(outcome), name="late-call")
        _recording.add(task)
        task.add_done_callback(_recording.discard)

    def _outcome(self, late: Attempt | None) -> ToolOutcome:
        milliseconds = round((time.perf_counter() - self._began) * 1000)
        ended = replace(self.initial, duration_ms=milliseconds)
        if late is None:
            if self.planned.tool.read_only:
                return replace(ended, status="cancelled", content=STOPPED, error=STOPPED)
            return replace(ended, status="unknown", content=EFFECT_UNKNOWN, error=EFFECT_UNKNOWN)
        if late.error is not None:
            exc = late.error
            text = clean_text(cut(str(exc))) if isinstance(exc, ToolError) else type(exc).__name__
            return replace(ended, status="error", content=text, error=text)
        content = clean_text(late.result.content)
        is_error = late.result.is_error
        return replace(
            ended,
            status="error" if is_error else "ok",
            content=content,
            error=content if is_error else "",
            full=clean_text(late.result.full),
        )

    def _log(self, what: str, *values: Any) -> None:
        name = self.planned.tool.name
        context = self.environment.context
        logger.warning("Tool %s of run %s %s", name, context.run_id, what % values, extra=log_extra(context))

    async def _record(self, outcome: ToolOutcome) -> None:
        journal = self.environment.journal
        if not isinstance(journal, LateJournal):
            return
        try:
            await journal.ended_late(outcome)
        except Exception:
            extra = log_extra(self.environment.context)
            logger.exception("The late end of call %s could not be recorded", outcome.call.id, extra=extra)


def _attempt_of(result: Future[Any]) -> Attempt:
    """Return how the function of a sync tool has ended."""
    if (exc := result.exception()) is not None:
        return Attempt(error=told_by(exc))
    value = result.result()
    # Anything else is an awaitable, which nobody awaits any more.
    return Attempt(value) if isinstance(value, ToolResult) else Attempt()


def _on_loop(function: Callable[[Future[Any]], None]) -> Callable[[Future[Any]], None]:
    """Return a callback for any thread that calls `function` on the loop of the caller and in its context."""
    # Queries are limited to the tenant of the context, and the thread has none.
    loop = asyncio.get_running_loop()
    context = contextvars.copy_context()

    def call(result: Future[Any]) -> None:
        try:
            loop.call_soon_threadsafe(function, result, context=context)
        except RuntimeError:  # the process ends
            logger.info("A call ended after its event loop")

    return call


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
    late = LateCall(planned, initial, environment)

    def emit_in_time(event: Event) -> None:
        if not late.is_over:
            emit(event)

    current_parent.set(ParentRun(emit_in_time, environment))
    on_left_running.set(late.left_running)
    is_edited = planned.decision is not None and planned.decision.edited_arguments is not None
    edited = f"(Who approved this call changed the arguments to {planned.arguments})\n" if is_edited else ""
    try:
        context = _context(planned, environment, seconds, emit_in_time)
        invoked = tool
        arguments: str | Mapping[str, Any] = planned.arguments
        if tool.augmentation is not None:
            invoked, arguments = tool.unaugmented, tool.own_arguments(arguments)
        call = partial(invoked.call, arguments, context)
        if environment.interceptors or watching.get() is not None:
            invocation = Invocation.validated(invoked, arguments, context, planned.checked, planned.fields)
            call = partial(invoke, invocation, environment.interceptors)
        # In a task of its own: what the tool does with its cancellation must not decide when this call ends.
        work = asyncio.create_task(
            attempt(call, tool.name, context, environment.settings.on_raised), name=f"tool-{tool.name}"
        )
        try:
            await asyncio.wait({work}, timeout=seconds if math.isfinite(seconds) else None)
        except asyncio.CancelledError:
            if (ended := await late.end_cancelled(work)) is None:
                raise
        else:
            ended = work.result() if work.done() else await late.end_in_time(work)
        if ended is None:
            return late.timed_out(seconds)
        if ended.error is not None:
            raise ended.error
        result = ended.result
    except RunTakenOver:
        raise  # no failure of the tool, after which the model would be asked again
    except (Exception, SystemExit) as exc:
        return await _failure(planned, initial, environment, exc, edited)
    finally:
        late.is_over = True
    if result.pending is not None:
        return replace(initial, status="pending", pending=result.pending)
    display = _display_of(result) if edited and result.display is None else result.display
    return replace(
        initial,
        status="error" if result.is_error else "ok",
        content=edited + result.content,
        display=None if display is None else _displayable(planned, environment.context, display),
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


async def _failure(
    planned: PlannedCall, initial: ToolOutcome, environment: CallEnvironment, exc: BaseException, edited: str
) -> ToolOutcome:
    """Return the outcome of a call whose tool has raised. `edited`: the note that a person changed its arguments."""
    if isinstance(exc, NeedsAnswer) and environment.settings.questions.midway:
        return _asking(planned, initial, exc.question)
    if isinstance(exc, ToolError):
        is_unknown = exc.may_have_run and not planned.tool.read_only
        text = str(exc) or "The tool failed."
        told = cut(text)
        full = "" if told is text else stored(text)
        note = f"\n{EFFECT_UNKNOWN}" if is_unknown else ""
        status: Status = "unknown" if is_unknown else "error"
        return replace(initial, status=status, content=f"{edited}{told}{note}", error=told, full=full)
    if isinstance(exc, SubAgentFailed):
        return _failed(initial, exc.__cause__ or exc, exc.error_id, ends_run=True)
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
    """Return the tool's `display` as JSON values; None if it cannot be serialised."""
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
