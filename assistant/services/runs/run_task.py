"""Runs one run: consumes the turn's events, numbers and logs them, stores checkpoints, and stores the end."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import Callable
from functools import partial
from typing import Any

from django.conf import settings
from django.db import DatabaseError, DataError, InterfaceError
from django.utils.translation import activate, gettext, gettext_noop

from assistant.core.toolcalls.protocols import RunTakenOver
from assistant.core.turn.loop import run_turn
from assistant.core.turn.plan import Plan
from assistant.core.values import events
from assistant.core.values.events import PROTOCOL_VERSION, Event, RunError, RunFinished, RunStarted
from assistant.core.values.messages import not_superseded
from assistant.services import metrics
from assistant.services.conversations.stored_messages import with_sealed_states
from assistant.services.db.threads import in_database, in_database_with_retry
from assistant.services.errors import log_failure, storage_problem
from assistant.services.eventlog.frames import FrameEncoder
from assistant.services.eventlog.log import Entry, EventLog, Fenced
from assistant.services.limits.run_queue import Place
from assistant.services.limits.runs_at_once import TooManyRuns
from assistant.services.outage_errors import OUTAGE_ERRORS
from assistant.services.run_key import RunKey
from assistant.services.runs.checkpoints import CheckpointWriter
from assistant.services.runs.closing import Ending, close_run, ending_of, report_end
from assistant.services.runs.extensions.run_extension import FinishedRun
from assistant.services.runs.leases import Checkpoint, LostRun, hand_over_run
from assistant.services.runs.opening.run_setup import RunSetup
from assistant.services.runs.run_configurations import record_of
from assistant.services.runs.run_start import RunStart
from assistant.services.toolcalls.interceptors import observed
from assistant.services.toolcalls.observers import NAMES, ObservedRun
from assistant.toolkit.logs import run_log_context
from assistant.toolkit.per_loop import PerLoop

logger = logging.getLogger(__name__)

# How long optional work waits. What has waited longer is left out: answers have priority.
IDLE_SECONDS = 60.0


class IdleMoments:
    """Knows which runs of one event loop wait for their first token."""

    def __init__(self) -> None:
        self._waiting: set[int] = set()
        self._is_idle = asyncio.Event()
        self._is_idle.set()

    def begin(self, pk: int) -> None:
        """Note that a run waits for its first token, until `end`."""
        self._waiting.add(pk)
        self._is_idle.clear()

    def end(self, pk: int) -> None:
        """Note that a run has its first token, or has ended; later calls do nothing."""
        self._waiting.discard(pk)
        if not self._waiting:
            self._is_idle.set()

    async def wait(self) -> None:
        """Wait for an idle moment. Raises `TimeoutError` if there is none within `IDLE_SECONDS`."""
        async with asyncio.timeout(IDLE_SECONDS):
            while self._waiting:
                await self._is_idle.wait()


idle_moments = PerLoop(IdleMoments)


# Events that begin with a model's first token.
_FIRST_TOKEN = events.TextMessageStart | events.ReasoningMessageStart | events.ToolCallStart
INTERRUPTED = gettext_noop("The server stopped while this answer was being written.")


class RunTask:
    """The task of one run, which does not depend on any connection.

    Args:
        make_plan: returns the run's plan, whose deadline counts from then on.
        setup: what the plan is built from. A conversation whose caller keeps the history is not summarised.
        place: its place in this process, where it waits if it is queued.
        start: where it begins; None for a new run.
    """

    def __init__(
        self,
        key: RunKey,
        make_plan: Callable[[], Plan],
        log: EventLog,
        checkpoints: CheckpointWriter,
        *,
        setup: RunSetup,
        place: Place,
        start: RunStart | None = None,
    ) -> None:
        self.key = key
        self._checkpoints = checkpoints
        self._make_plan, self._plan = make_plan, make_plan()
        self._setup, self._place = setup, None if setup.queued is None else place
        self._start = RunStart() if start is None else start
        self._transcript = self._start.transcript
        self._encoder = FrameEncoder(run_id=key.run_id, thread=key.client_thread)
        self._seq, self._is_started = self._start.seq, self._start.is_started
        self._started_at = time.perf_counter()
        self._first_token: float | None = None
        self._idle_moments = idle_moments.get()
        self._log, self._writer = log, log.writer(key.thread, self._on_log_failure)
        self._task: asyncio.Task[None] | None = None
        self._is_cancelled = self._is_lost = self._is_ending = self._is_stored = self._is_handed_over = False
        self._failure, self._is_storable = "", True

    @property
    def is_followed(self) -> bool:
        """Whether the run has ended without an error or cancellation, is stored, and something is to follow it."""
        is_finished = isinstance(self._transcript.ending, RunFinished) and not self._is_cancelled and self._is_stored
        return is_finished and bool([one for one in self._setup.extensions if "followed" in one.run_hooks])

    async def after_run(self) -> None:
        """Do what follows a finished run, at a moment when no run of this process waits for its first token."""
        following = [extension for extension in self._setup.extensions if "followed" in extension.run_hooks]
        messages, timeline = not_superseded(self._transcript.messages), self._transcript.timeline
        run = FinishedRun(self.key, self._plan, messages, timeline, self._setup.quotas, self._log)
        with run_log_context(self._plan.context):
            for extension in following:
                try:
                    await self._idle_moments.wait()
                    await extension.followed(run)
                except TimeoutError:
                    logger.info("%s is left out after run %s: no moment was idle", extension.name, self.key.run_id)
                except OUTAGE_ERRORS:
                    logger.warning("Nothing could be stored after run %s", self.key.run_id, exc_info=True)

    def start(self) -> asyncio.Task[None]:
        """Start the run and return its task, which ends when the run is stored."""
        if self._setup.language:
            activate(self._setup.language)
        self._task = asyncio.create_task(self._work(), name=f"run-{self.key.pk}")
        return self._task

    async def ended(self) -> None:
        """Wait until the run is stored, or has failed."""
        if self._task is not None:
            await asyncio.wait([self._task])

    def cancel(self) -> None:
        """Cancel the run, with the provider's request and its tools.

        Later calls do nothing: a cancellation arrives in several ways, and a second would interrupt storing the end.
        """
        if not self._is_ending and not self._is_cancelled and self._task is not None:
            self._is_cancelled = True
            self._task.cancel()

    def hand_over(self) -> None:
        """Give the run up when its task is cancelled, so that another process goes on with it, if one may."""
        if not self._is_ending and not self._is_cancelled and self._task is not None:
            self._is_handed_over = (
                bool(settings.ASSISTANT_RUN_RESUMES) and not self.key.is_stateless and not self.key.is_test
            )

    def lose(self) -> None:
        """Stop without storing anything, because another process has taken the run over."""
        self._is_lost = True
        if self._task is not None and not self._is_ending:
            self._task.cancel()

    def _on_log_failure(self) -> None:
        if isinstance(self._writer.failure, Fenced):
            self.lose()
            return
        # The run continues. Readers get its checkpoints and its end from the database, which also shows whether
        # another process has taken it over.
        logger.error("Run %s continues without its event log: %r", self.key.run_id, self._writer.failure)

    async def _flush(self) -> None:
        """Wait until the events so far can be read, unless the log has failed. Raises `Fenced`."""
        try:
            await self._writer.flush()
        except Exception:
            if self._writer.failure is None or isinstance(self._writer.failure, Fenced):
                raise

    async def _work(self) -> None:
        with contextlib.ExitStack() as stack:
            stack.enter_context(run_log_context(self._plan.context))
            if NAMES:  # of observers: optional apps have them
                run = ObservedRun(
                    self._plan,
                    self._transcript,
                    thread=self.key.thread,
                    replaced=self._setup.answering.replaced,
                    failure=lambda: self._failure,
                )
                stack.enter_context(observed(run))
            await self._drive()

    async def _drive(self) -> None:
        checkpoints = asyncio.create_task(self._store_checkpoints(), name=f"checkpoints-{self.key.pk}")
        try:
            if self._place is not None:
                await self._wait_for_turn(self._place)
            self._idle_moments.begin(self.key.pk)
            for event in self._start.events:
                self._emit(event)
            if self._start.cut:
                self._start.count_cut_step(self._plan)
            async with contextlib.aclosing(run_turn(self._plan, self._transcript, self._emit)) as turn:
                async for event in turn:
                    if isinstance(event, RunFinished | RunError):
                        await self._end(event, checkpoints)
                    elif not (isinstance(event, RunStarted) and self._is_started):
                        self._emit(event)
        except TooManyRuns as refusal:
            with contextlib.suppress(LostRun, Fenced):
                await self._end(RunError(str(refusal), code=refusal.code), checkpoints)
        except asyncio.CancelledError:
            await (self._give_up(checkpoints) if self._is_handed_over else self._stop(checkpoints))
        except (RunTakenOver, Fenced):
            logger.warning("Run %s was taken over by another process", self.key.run_id)
        except Exception as exc:
            await self._fail(exc, checkpoints)
        finally:
            self._idle_moments.end(self.key.pk)
            checkpoints.cancel()

    async def _wait_for_turn(self, place: Place) -> None:
        """Write the events of a queued run, and wait until it is started. Raises `TooManyRuns`."""
        if not self._is_started:
            self._emit(RunStarted(self._plan.thread_id, self._plan.run_id, PROTOCOL_VERSION))
            self._is_started = True
        self._emit(events.Custom("run.queued", place.as_value()))
        await place.wait(self._seq, self._flush)
        self._started_at = time.perf_counter()  # the provider is not slow for the time in the queue
        self._plan = self._make_plan()

    def _emit(self, event: Event) -> None:
        self._seq += 1
        if self._first_token is None and isinstance(event, _FIRST_TOKEN):
            self._first_token = time.perf_counter() - self._started_at
            self._idle_moments.end(self.key.pk)
        self._writer.write(Entry(self.key.number, self._seq, self._encoder.frame(event, self._seq)))

    async def _stop(self, checkpoints: asyncio.Task[None]) -> None:
        """Store the end of a run whose task was cancelled, unless the run is lost or its end is being stored."""
        if self._is_lost or self._is_ending:
            return
        if self._task is not None:
            self._task.uncancel()
        for event in self._transcript.close("cancelled" if self._is_cancelled else "interrupted"):
            self._emit(event)
        usage = self._transcript.token_usage() or None
        ending: RunFinished | RunError = RunError(gettext(INTERRUPTED), code="interrupted", usage=usage)
        if self._is_cancelled:
            ending = RunFinished(self.key.client_thread, self.key.client_run, events.Cancelled(), usage=usage)
        with contextlib.suppress(LostRun, Fenced):
            await self._end(ending, checkpoints)

    async def _give_up(self, checkpoints: asyncio.Task[None]) -> None:
        """Store the run as it is, and give up its lease. If that fails, its lease expires as that of a dead process."""
        checkpoints.cancel()
        await asyncio.gather(checkpoints, return_exceptions=True)
        try:
            await self._flush()
            await in_database(hand_over_run, self._state())
        except (Fenced, DatabaseError, InterfaceError):
            logger.warning("Run %s could not be handed over", self.key.run_id, exc_info=True)

    def _state(self) -> Checkpoint:
        return Checkpoint(self.key, with_sealed_states(self._transcript.to_state()), self._seq)

    async def _fail(self, exc: Exception, checkpoints: asyncio.Task[None]) -> None:
        failure = log_failure(logger, exc, "Run %s of tenant %s failed", self.key.run_id, self.key.tenant_id)
        for event in self._transcript.close("error"):
            self._emit(event)
        # Messages that the database cannot hold are left out, or the thread would stay busy forever.
        self._is_storable = not isinstance(exc, DataError)
        with contextlib.suppress(LostRun, Fenced):
            await self._end(RunError(failure.message, code="internal_error"), checkpoints)

    async def _end(self, event: RunFinished | RunError, checkpoints: asyncio.Task[None]) -> None:
        """Store the run, and then write its last event, so that a client that sees it can start the next run.

        If the database cannot store it, clients get an error as its end. The recovery of runs stores it with that end
        once its lease has expired and the database can be written again.
        """
        self._is_ending = True
        if self._start.is_resumed:
            self._first_token = None  # of the process that began the run, and not known here
        self._failure = event.code or "" if isinstance(event, RunError) else ""
        checkpoints.cancel()
        await asyncio.gather(checkpoints, return_exceptions=True)
        await self._flush()
        try:
            await self._close(ending_of(event))
            self._is_stored = True
        except (DatabaseError, InterfaceError) as exc:
            if isinstance(exc, DataError) and self._is_storable:
                raise
            event = self._unstored(exc)
        self._emit(event)
        report_end(
            plan=self._plan,
            ending=ending_of(event),
            events=self._seq,
            seconds=time.perf_counter() - self._started_at,
            first_token=self._first_token,
            usage=self._transcript.usage,
            timeline=self._transcript.timeline,
            is_test=self.key.is_test,
        )
        await self._flush()
        if self._is_stored:
            for extension in self._setup.extensions:
                if "stored" in extension.run_hooks:
                    await extension.stored()

    def _unstored(self, exc: Exception) -> RunError:
        failure = log_failure(logger, exc, "Run %s of tenant %s was not stored", self.key.run_id, self.key.tenant_id)
        metrics.counting().count_unstored_run(storage_problem(exc) or "unreachable")
        self._writer.keep_events()
        self._failure = "internal_error"
        return RunError(failure.message, code="internal_error", usage=self._transcript.token_usage() or None)

    async def _close(self, ending: Ending) -> None:
        messages = self._transcript.messages if self._is_storable else ()
        record = partial(record_of, self._setup, self._plan.context.extra, self._transcript.timeline)
        columns: dict[str, Any] = {}
        # What extensions store in the run's row is about what its answer refers to.
        refers = self._transcript.citations or any("[" in message.content for message in self._transcript.messages)
        if self._is_storable and refers:
            for extension in self._setup.extensions:
                if "columns" in extension.run_hooks:
                    columns |= await extension.columns(self._setup.history, self._transcript)
        await in_database_with_retry(
            close_run,
            key=self.key,
            messages=messages,
            usage=self._transcript.usage if self._is_storable else {},
            ending=ending,
            last_seq=self._seq + 1,
            position=self._setup.position,
            is_heard=self._setup.is_heard,
            first_token=self._first_token,
            make_record=record if self._is_storable else None,
            columns=columns,
        )

    async def _store_checkpoints(self) -> None:
        try:
            await self._checkpoints.store_until_cancelled(
                self._state, self._flush, seq=lambda: self._seq, survives_process=self._log.survives_process
            )
            self.cancel()
        except (LostRun, Fenced):
            self.lose()
