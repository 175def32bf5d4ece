"""Runs one batch of tool calls concurrently, records the outcomes, and yields results in the order of the calls."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncGenerator, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

from assistant.core.conversation.turn_endings import ask_person
from assistant.core.toolcalls.admission import NO_DECISION, check_call, check_client_call
from assistant.core.toolcalls.previews import with_preview
from assistant.core.toolcalls.protocols import (
    WAITS,
    Admission,
    Decision,
    Journal,
    PlannedCall,
    RunTakenOver,
    ToolOutcome,
    Toolset,
    WaitingJournal,
)
from assistant.core.toolcalls.run_call import CallEnvironment, run_call
from assistant.core.values.events import Custom, Event, Interrupt, ToolCallResult
from assistant.core.values.messages import ToolCall, result_id
from assistant.core.values.untrusted import bounded_sources
from assistant.toolkit.logs import log_extra, log_operation
from assistant.toolkit.schema.form import label_of
from assistant.toolkit.text import clean_text
from assistant.toolkit.translation import gettext

__all__ = [
    "Admission", "Batch", "CallEnvironment", "Decision", "Journal", "PlannedCall", "RunTakenOver", "ToolOutcome",
    "Toolset",
]  # fmt: skip

logger = logging.getLogger(__name__)

# The error of a sub-agent that was stopped.
STOPPED = "Stopped before it had an answer."


@dataclass
class Batch:
    """The calls of one reply. `run` yields the events; the other attributes hold the result afterwards.

    Args:
        decisions: a person's decisions on calls that waited for approval, by call id; None if none was requested.
        undecided: the decision on waiting calls that are not in `decisions`; None to leave them waiting.
        has_earlier_results: whether other calls of the same reply, not in this batch, already have results.

    Attributes:
        outcomes: the outcome of each call that has one, by call id.
        client_calls: the calls that the client has to run.
        awaiting: the outcomes of calls that wait for a person, or for a result from outside, in the order of the calls.
        direct: the results, if they are the turn's answer: all tools of the batch are `return_direct`, and all
            succeeded. None otherwise, and if the results are only white space.
    """

    calls: Sequence[ToolCall]
    environment: CallEnvironment
    decisions: Mapping[str, Decision] | None = None
    undecided: Decision | None = NO_DECISION
    has_earlier_results: bool = False
    outcomes: dict[str, ToolOutcome] = field(default_factory=dict)
    client_calls: list[ToolCall] = field(default_factory=list)
    awaiting: list[ToolOutcome] = field(default_factory=list, init=False)
    direct: list[str] | None = field(default=None, init=False)
    _planned: list[PlannedCall] = field(default_factory=list, init=False)
    _queue: asyncio.Queue[Event | ToolOutcome | RunTakenOver] = field(default_factory=asyncio.Queue, init=False)
    _sent: set[str] = field(default_factory=set, init=False)
    _titles: dict[str, dict[str, str]] = field(default_factory=dict, init=False)
    _is_recorded: bool = field(default=False, init=False)
    _is_taken_over: bool = field(default=False, init=False)

    def title_of(self, call: ToolCall) -> str:
        """Return the name for people of a call's tool; empty if it has none."""
        return self._titles.get(call.id, {}).get("title", "")

    async def run(self) -> AsyncGenerator[Event, None]:
        """Run the batch, once, and yield its events.

        However it ends, the journal gets an outcome of every call that was started.

        Raises:
            RunTakenOver: another process has the run.
            ValueError: two calls have the same id.
        """
        log_operation(logger, self.environment.context, "A batch of %d tool calls", len(self.calls))
        await self._plan()
        tasks: list[asyncio.Task[None]] = []
        try:
            tasks = await self._start()
            for event in self._events_of(self.outcomes.values()):
                yield event
            while len(self.outcomes) + len(self.client_calls) < len(self.calls):
                item = await self._queue.get()
                if isinstance(item, RunTakenOver):
                    self._is_taken_over = True
                    raise item
                if isinstance(item, ToolOutcome):
                    self._settle(item)
                    for event in self._events_of([item]):
                        yield event
                else:
                    yield item
            while not self._queue.empty():
                late = self._queue.get_nowait()
                if not isinstance(late, ToolOutcome | RunTakenOver):
                    yield late
            self._is_recorded = True
            await self._record()
        finally:
            if not self._is_recorded:
                await self._stop(tasks)
        outcomes = [self.outcomes[call.id] for call in self.calls if call.id in self.outcomes]
        self.awaiting = [outcome for outcome in outcomes if outcome.status in WAITS]
        # Stored results do not show whether their tools succeeded.
        if not self.has_earlier_results and all(one.return_direct and one.status == "ok" for one in outcomes):
            results = [outcome.content for outcome in outcomes]
            self.direct = results if not self.client_calls and "".join(results).strip() else None

    async def _plan(self) -> None:
        """Settle what is known of calls that waited; plan the others, leave them to the client, or settle them too."""
        environment = self.environment
        if len({call.id for call in self.calls}) < len(self.calls):
            raise ValueError("Calls of one batch must have different ids.")
        if self.decisions is not None and isinstance(environment.journal, WaitingJournal):
            for outcome in (await environment.journal.waited_for(self.calls)).values():
                self._settle(outcome)
        admissions = await environment.toolset.admit(self.calls, environment.transcript.read)
        for call, admission in zip(self.calls, admissions, strict=True):
            if admission.tool is not None and (title := admission.tool.title.strip()):
                self._titles[call.id] = {"title": title}
            if call.id in self.outcomes:
                continue
            checked: PlannedCall | ToolOutcome | None
            if admission.tool is None and call.name in environment.client_tools and self.decisions is None:
                checked = check_client_call(call, admission)
            else:
                checked = await check_call(
                    call,
                    admission,
                    decision=None if self.decisions is None else self.decisions.get(call.id, self.undecided),
                    limiter=environment.limiter,
                    context=environment.context,
                    settings=environment.settings,
                )
            if checked is None:
                self.client_calls.append(call)
            elif isinstance(checked, PlannedCall):
                self._planned.append(checked)
            else:
                if checked.asked is not None:
                    checked = await with_preview(checked, admission.tool, environment.context)
                self._settle(checked)

    async def _start(self) -> list[asyncio.Task[None]]:
        """Record the calls that are about to run, settle those that must not, and start the others."""
        if not self._planned:
            return []
        try:
            known = await self.environment.journal.starting(tuple(self._planned))
        except RunTakenOver:
            self._is_recorded = True  # by the process that has the run now
            raise
        for outcome in known.values():
            self._settle(outcome)
        limit = asyncio.Semaphore(self.environment.settings.parallel)
        tasks: list[asyncio.Task[None]] = []
        barrier: list[asyncio.Task[None]] = []
        for planned in self._planned:
            if planned.call.id in known:
                continue
            after = list(tasks) if planned.tool.barrier else list(barrier)
            task = asyncio.create_task(self._run_call(planned, limit, after), name=f"tool-{planned.tool.name}")
            tasks.append(task)
            if planned.tool.barrier:
                barrier = [task]
        return tasks

    async def _run_call(self, planned: PlannedCall, limit: asyncio.Semaphore, after: list[asyncio.Task[None]]) -> None:
        if after:
            await asyncio.wait(after)
        async with limit:
            log_operation(
                logger, self.environment.context, "Tool %s begins, call %s", planned.tool.name, planned.call.id
            )
            about = {"toolCallId": planned.call.id, "name": planned.tool.name, **self._titles.get(planned.call.id, {})}
            self._queue.put_nowait(Custom("tool.started", about))
            began = time.perf_counter()
            outcome = initial = ToolOutcome(
                planned.call,
                "cancelled",
                "The tool was cancelled.",
                rule=planned.admission.rule,
                started_at=datetime.now(UTC),
            )
            try:
                outcome = await run_call(planned, initial, self.environment, self._queue.put_nowait)
                # What the tool itself has declared, and what the assistants that it asked have read, come on top.
                declared = self.environment.transcript.sources.get(planned.call.id, ())
                if declared or outcome.sources:
                    outcome = replace(outcome, sources=bounded_sources((*declared, *outcome.sources)))
                if outcome.media:
                    files = await self.environment.journal.keep(planned.call, outcome.media)
                    outcome = replace(outcome, files=tuple(files))
            except RunTakenOver as exc:
                self._queue.put_nowait(exc)  # before the outcome, so that the batch ends by it
            finally:
                duration = round((time.perf_counter() - began) * 1000)
                self._queue.put_nowait(replace(outcome, duration_ms=duration))

    def _settle(self, outcome: ToolOutcome, *, is_told: bool = True) -> None:
        """Store the outcome of a call and, unless it waits or nobody is told, its result in the transcript."""
        # Lone surrogates and NUL, which JSON escapes can produce, can neither be stored nor sent.
        outcome = replace(outcome, content=clean_text(outcome.content), error=clean_text(outcome.error))
        self.outcomes[outcome.call.id] = outcome
        ended = outcome.call.id, outcome.status, outcome.duration_ms
        log_operation(logger, self.environment.context, "Call %s: %s after %d ms", *ended)
        if images := tuple([one for one in outcome.media if one.is_image]):
            self.environment.transcript.images[outcome.call.id] = images
        if is_told and outcome.status not in WAITS:
            self.environment.transcript.record_result(outcome.call.id, outcome.content, outcome.sources)

    def _events_of(self, outcomes: Iterable[ToolOutcome]) -> list[Event]:
        """Return what can be sent now: that these calls have ended, and the results in the order of the calls.

        Calls that wait have neither; the result of a call follows those of all earlier calls.
        """
        events: list[Event] = []
        for outcome in outcomes:
            if outcome.status in WAITS:
                continue
            call = outcome.call
            value: dict[str, Any] = {"toolCallId": call.id, "name": call.name, **self._titles.get(call.id, {})}
            value |= {"status": outcome.status, "durationMs": outcome.duration_ms}
            if outcome.display is not None:
                value["display"] = outcome.display
            if outcome.files:
                value["media"] = [dict(one) for one in outcome.files]
            events.append(Custom("tool.finished", value))
        left_out = self._sent | {call.id for call in self.client_calls}
        for call in self.calls:
            if call.id in left_out:
                continue
            if (known := self.outcomes.get(call.id)) is None:
                break
            if known.status not in WAITS:
                self._sent.add(call.id)
                events.append(ToolCallResult(result_id(call.id), call.id, known.content, role="tool"))
        return events

    async def _record(self) -> None:
        """Record the outcomes, each with the transcripts of the sub-agents that its call started."""
        if (asked := self.environment.transcript.sub_agents) is not None:
            for call_id, sub_agents in asked.by_call().items():
                if call_id in self.outcomes:
                    self.outcomes[call_id] = replace(self.outcomes[call_id], sub_agents=tuple(sub_agents))
        self.environment.transcript.timeline.add_calls(self.outcomes)
        if self.outcomes:
            await self.environment.journal.finished([self.outcomes[c.id] for c in self.calls if c.id in self.outcomes])

    async def _stop(self, tasks: Sequence[asyncio.Task[None]]) -> None:
        """Cancel what still runs, and record the outcomes."""
        for task in tasks:
            task.cancel()
        if tasks:  # one that ignores its cancellation is left running
            await asyncio.wait(tasks, timeout=self.environment.settings.grace)
        if self._is_taken_over:
            return  # the process that has the run now records its calls
        while not self._queue.empty():
            item = self._queue.get_nowait()
            if isinstance(item, ToolOutcome):
                if item.status == "awaiting_approval":  # nobody is asked by a run that was stopped
                    item = replace(item, status="cancelled", asked=None)
                self._settle(item, is_told=item.status != "cancelled")
        for planned in self._planned:
            self.outcomes.setdefault(
                planned.call.id, ToolOutcome(planned.call, "cancelled", rule=planned.admission.rule)
            )
        if (asked := self.environment.transcript.sub_agents) is not None:
            asked.stop(STOPPED)
        try:
            await self._record()
        except Exception:
            # If it were raised, it would hide the exception that ended the batch.
            context = self.environment.context
            logger.exception("The outcomes of run %s could not be recorded", context.run_id, extra=log_extra(context))


# The reason of an interrupt that waits for a result from outside, and not for the person.
PENDING = "tool_pending"


def interrupt_of(outcome: ToolOutcome, title: str, seconds: float) -> Interrupt:
    """Return the interrupt for which a run ends because of a call that waits.

    Args:
        title: the tool's name for people; empty if it has none.
        seconds: until an approval expires; 0 for never.
    """
    call = outcome.call
    pending = outcome.pending
    if pending is None:
        return ask_person(call, outcome.asked, seconds, outcome.warning)
    title = title or label_of(call.name)
    about: dict[str, Any] = {"title": title, **({"note": pending.note} if pending.note else {})}
    sentence = (
        gettext("“%(tool)s” waits for %(note)s.") % {"tool": title, "note": pending.note}
        if pending.note
        else gettext("“%(tool)s” waits for its result.") % {"tool": title}
    )
    return Interrupt(
        id=call.id,
        reason=PENDING,
        message=sentence,
        tool_call_id=call.id,
        metadata=about,
        expires_at=pending.ends_at.isoformat(timespec="seconds"),
    )
