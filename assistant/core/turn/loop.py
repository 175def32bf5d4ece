"""The loop of one turn: asks the model and runs the tools it calls, until it answers or a limit is reached."""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import AbstractContextManager, aclosing
from dataclasses import replace
from typing import NamedTuple

from assistant.core.conversation.transcript import Transcript
from assistant.core.conversation.turn_endings import CUT_SHORT, CloseReason, TurnFailed, cut_short
from assistant.core.extensions.extension import around_tools, with_hook, with_moments
from assistant.core.llm.protocol import Delta, ModelError, ProviderCall, TextDelta
from assistant.core.streaming.event_writer import AnswerStream, EventWriter
from assistant.core.toolcalls.admission import CallLimiter
from assistant.core.toolcalls.batch import Batch, CallEnvironment, RunTakenOver, interrupt_of
from assistant.core.toolcalls.protocols import Decision
from assistant.core.turn.model_requests import CIRCUITS, ModelRequests
from assistant.core.turn.plan import Plan
from assistant.core.turn.turn_extensions import ExtendedToolset, TurnExtensions
from assistant.core.values import events
from assistant.core.values.deadline import Deadline, DeadlinePassed
from assistant.core.values.events import PROTOCOL_VERSION, Event, RunError, RunFinished, RunStarted
from assistant.core.values.limits import Limits
from assistant.core.values.messages import (
    Message,
    Reply,
    ToolCall,
    answered_calls,
    current_turn_messages,
    last_calls,
    new_id,
    not_superseded,
    unanswered_calls,
)
from assistant.core.values.untrusted import ReadText
from assistant.toolkit.calls.gate import HandedIn, ask
from assistant.toolkit.logs import log_extra, log_operation
from assistant.toolkit.translation import OUR_SIDE, gettext, gettext_noop, with_error_id

logger = logging.getLogger(__name__)


class OpenCalls(NamedTuple):
    """The calls that a turn begins with.

    Attributes:
        calls: those of the last answer that have no result: they waited for a person, or were cut.
        decisions: the person's, by call id; None if nobody was asked.
        has_earlier_results: whether other calls of the same answer have results.
    """

    calls: tuple[ToolCall, ...]
    decisions: Mapping[str, Decision] | None
    has_earlier_results: bool


NO_CALLS = OpenCalls((), None, has_earlier_results=False)


def take_up(plan: Plan, transcript: Transcript, limiter: CallLimiter) -> tuple[Sequence[Message], OpenCalls]:
    """Return the conversation with what the run has made so far, and the calls that it goes on with.

    Calls that the run has made before count towards its limits.

    Raises:
        TurnFailed: two calls have the same id.
    """
    made = not_superseded(transcript.messages)
    conversation = (*plan.messages, *made)
    calls = unanswered_calls(conversation)
    if not calls and not made:
        return conversation, NO_CALLS
    if len({call.id for call in calls}) < len(calls):
        raise TurnFailed("Two calls of the conversation have the same id.", "invalid_input")
    for call in answered_calls(made):
        limiter.admit(call, None)
    # Decisions are on calls that the run before this one made.
    is_decided = bool(calls) and all(message.role != "assistant" for message in made)
    has_earlier_results = bool(calls) and len(calls) < len(last_calls(conversation))
    return conversation, OpenCalls(calls, plan.decisions if is_decided else None, has_earlier_results)


__all__ = ["Limits", "Plan", "run_turn"]

# Longer call ids are replaced by generated ones: ids are stored, and sent with every later request.
MAX_CALL_ID = 64


async def run_turn(
    plan: Plan, transcript: Transcript | None = None, on_text: Callable[[Event], None] | None = None
) -> AsyncGenerator[Event, None]:
    """Run one turn and yield all of its events, from `RUN_STARTED` to `RUN_FINISHED` or `RUN_ERROR`.

    Cancelling the task, or closing the generator, stops the provider's request and the tools. The transcript stays open
    then, and the caller has to call `transcript.close`.

    Args:
        transcript: each event is applied to it before it is yielded. A run that another process began goes on with
            what is in it.
        on_text: called with text deltas (nearly all events) instead of yielding them, in order with the other events;
            this costs less than yielding.
    """
    transcript = Transcript() if transcript is None else transcript
    log_operation(logger, plan.context, "A turn begins with %d messages", len(plan.messages))
    transcript.timeline.begin()
    yield RunStarted(plan.thread_id, plan.run_id, PROTOCOL_VERSION)
    deadline = Deadline(seconds := plan.settings.limits.seconds, spent=plan.spent_seconds)
    turn = _Turn(plan, transcript, deadline, on_text)
    try:
        async with aclosing(turn.run()) as running:
            async for event in running:
                while turn.late:
                    yield turn.late.popleft()
                transcript.apply(event)
                yield event
        if turn.extensions is not None:
            await turn.extensions.finished()
        return
    except DeadlinePassed:
        failure = TurnFailed(
            gettext("This run has reached its limit of %(seconds)s seconds.") % {"seconds": f"{seconds:g}"},
            "limit_reached",
        )
    except ModelError as exc:
        error_id, transcript.failure = transcript.timeline.new_error(exc.cause), exc
        model = turn.requests.recovery.model
        details = (model.name, model.provider, plan.run_id, exc, exc.cause, error_id)
        logger.warning("The model %s of %s failed in run %s: %s (%s) [%s]", *details, extra=log_extra(plan.context))
        failure = TurnFailed(with_error_id(gettext(str(exc)), error_id), exc.code)
    except TurnFailed as exc:
        failure, transcript.failure = exc, exc.__cause__
    except RunTakenOver:
        raise  # the process that has the run now writes its ending
    except Exception:
        error_id = transcript.timeline.new_error()
        slug = plan.context.tenant.slug
        logger.exception("Run %s of tenant %s failed [%s]", plan.run_id, slug, error_id, extra=log_extra(plan.context))
        failure = TurnFailed(with_error_id(gettext(OUR_SIDE), error_id), "internal_error")
    finally:
        deadline.close()
    log_operation(logger, plan.context, "The turn fails: %s", failure.code)
    reason: CloseReason = "limit" if failure.code in {"limit_reached", "quota_exceeded"} else "error"
    for event in transcript.close(reason):
        yield event
    error = RunError(str(failure), code=failure.code, usage=transcript.token_usage() or None)
    transcript.apply(error)
    yield error
    if turn.extensions is not None:
        await turn.extensions.finished()


def environment_of(
    plan: Plan,
    transcript: Transcript,
    deadline: Deadline,
    limiter: CallLimiter,
    *,
    messages: Sequence[Message],
    late: deque[Event],
) -> CallEnvironment:
    """Return what the tool calls of a plan share.

    Args:
        messages: the conversation, which ends with the current turn.
        late: takes events of calls that end after their time.
    """
    return CallEnvironment(
        toolset=plan.toolset,
        journal=plan.journal,
        context=plan.context,
        limiter=limiter,
        transcript=transcript,
        deadline=deadline,
        client_tools=frozenset(tool.name for tool in plan.client_tools),
        settings=plan.calls,
        interceptors=around_tools(plan.extensions) if plan.extensions else (),
        on_error=plan.settings.on_error,
        turn_messages=current_turn_messages(messages),
        extensions=plan.extensions,
        late=late,
    )


class _Turn:
    """A running turn; `run` yields its events after `RUN_STARTED`."""

    def __init__(
        self, plan: Plan, transcript: Transcript, deadline: Deadline, on_text: Callable[[Event], None] | None
    ) -> None:
        self._on_text = on_text
        self._plan = plan
        self._transcript = transcript
        self._deadline = deadline
        self._call_ids: set[str] | None = None
        self._calls: tuple[ToolCall, ...] = ()
        self._text = self._message_id = ""
        self._reply = Reply()
        self._limiter = CallLimiter(plan.settings.limits)
        self.late: deque[Event] = deque()
        self.extensions: TurnExtensions | None = None
        self._watching: TurnExtensions | None = None
        if plan.extensions and (acting := with_moments(plan.extensions)):
            self.extensions = extensions = TurnExtensions(
                plan, acting, transcript, deadline, model=lambda: self.requests.recovery.model, events=self.late
            )
            if with_hook(acting, "after_event"):
                self._watching = extensions
                self._on_text = None  # they see all events
            if with_hook(acting, "tools"):
                self._plan = plan = replace(plan, toolset=ExtendedToolset(plan.toolset, extensions.tools))
        self.requests = ModelRequests(plan, transcript, deadline, self._limiter, extensions=self.extensions)
        self._writer = EventWriter("", self._call_id)
        self._environment = environment_of(
            plan, transcript, deadline, self._limiter, messages=plan.messages, late=self.late
        )

    async def run(self) -> AsyncGenerator[Event, None]:  # noqa: PLR0912 - one branch a moment of the turn
        plan = self._plan
        conversation, opened = take_up(plan, self._transcript, self._limiter)
        calls, decisions, has_earlier_results = opened
        if calls:
            self._transcript.expect_results(calls)
        self._transcript.read = ReadText.of(conversation)
        if self._deadline.has_passed:  # before the turn
            raise DeadlinePassed
        if self.extensions is not None:
            await self.extensions.opened()
            while self.late:
                yield self.late.popleft()
        while True:
            if not calls:
                try:
                    async with aclosing(self._ask()) as asked:
                        async for event in asked:
                            yield event
                            if self._watching is not None:
                                await self._watching.after_event(event)
                                while self.late:
                                    yield self.late.popleft()
                except ModelError as exc:
                    for event in await self._recover(exc):
                        yield event
                    continue
                calls = self._calls
                if not calls and self.extensions is not None:
                    invalid = await self.extensions.check_answer(self._text, self._message_id)
                    if invalid is not None:
                        yield invalid
                        continue
                if not calls or not (plan.calls.execute is True or await self._executes()):
                    yield self._finished(events.Success(pending_tool_call_ids=[call.id for call in calls] or None))
                    return
            batch = Batch(calls, self._environment, decisions, has_earlier_results=has_earlier_results)
            async with aclosing(batch.run()) as ran:
                async for event in ran:
                    yield event
            calls, decisions, has_earlier_results = (), None, False
            async for event in self._conclude(batch):
                yield event
                if isinstance(event, RunFinished):
                    return

    async def _ask(self) -> AsyncGenerator[Event, None]:  # noqa: PLR0912 - one branch a kind of item
        """Send one request to the model and yield its events; sets `_calls`, `_text` and `_message_id`."""
        requests = self.requests
        if self._plan.fallbacks:
            for told in requests.recovery.before_request():
                yield told
        request = await requests.make()
        writer = self._writer = EventWriter(new_id(), self._call_id, request.tools)
        model = requests.recovery.model
        reply: Reply | None = None
        stream = AnswerStream(
            writer,
            self._transcript,
            self._on_text,
            model=model,
            request=request,
            run_id=self._plan.run_id,
            grace=self._plan.calls.grace,
        )
        ready = stream.ready  # saves a call for each delta
        yields_text = self._on_text is None  # saves a call for each text delta
        # A small model may read the prompt for longer than a run may take.
        is_small = getattr(model, "is_small", False)
        wait: AbstractContextManager[None] = self._deadline.paused() if is_small else self._deadline
        try:
            while reply is None:
                if ready and not self._deadline.has_passed:
                    item: Delta | Reply | None = ready.popleft()
                else:
                    with wait:
                        item = await stream.next()
                wait = self._deadline
                if yields_text and isinstance(item, TextDelta) and (event := writer.text_event(item.text)) is not None:
                    yield event
                elif isinstance(item, Reply):
                    reply = item
                elif item is None:
                    raise ModelError(gettext_noop("The model's answer broke off before its end."))
                elif isinstance(item, ProviderCall):
                    async for event in requests.provider_calls.ran(item, writer):
                        yield event
                else:
                    self._transcript.timeline.first_token()
                    for event in stream.events(item):
                        yield event
        except BaseException as exc:
            requests.count_partial(request, reply, writer.length, exc)
            raise
        finally:
            await stream.aclose()
        for event in writer.finish(reply):
            yield event
        if reply.provider_state:
            self._transcript.keep_state(writer.message_id, reply.provider_state)
        self._calls, self._text, self._message_id = writer.calls(reply), reply.text, writer.message_id
        self._reply = reply
        requests.count(request, reply)
        if not reply.tool_calls and (not reply.text or reply.finish_reason in CUT_SHORT):
            yield cut_short(reply, writer.message_id)
        if requests.recovery.has_failed or CIRCUITS.known:
            requests.recovery.answered()
        if self.extensions is not None:
            await self.extensions.after_reply(reply)

    async def _executes(self) -> bool:
        """Return whether the calls of the last reply are run; if not, they are left to the caller."""
        decide = self._plan.calls.execute
        if isinstance(decide, bool):
            return decide
        reply = replace(self._reply, tool_calls=self._calls)
        with self._deadline:
            answer = await ask(HandedIn(decide, (reply, self._plan.context), "execute_tools", "ChatClient", kind=bool))
        answer.report("the calls are left to the caller", self._plan.context)
        return answer.is_yes

    async def _recover(self, error: ModelError) -> Sequence[Event]:
        """Return the events to send before the next request, after one that failed. Raises `error` if none follows."""
        if self.extensions is not None and await self.extensions.after_failure(error):
            self.requests.rounds -= 1
            return ()
        events = await self.requests.after(error, self._writer)
        if events is None:
            raise error
        return events

    async def _conclude(self, batch: Batch) -> AsyncGenerator[Event, None]:
        """Yield the events that end the turn after a batch; none if it goes on. Raises `TurnFailed`."""
        for outcome in batch.outcomes.values():
            if outcome.quota:
                raise TurnFailed(outcome.quota, "quota_exceeded")
            if outcome.ends_run:
                sentence = gettext("The tool '%(tool)s' failed (error %(error)s).") % {
                    "tool": outcome.call.name,
                    "error": outcome.error_id,
                }
                self._transcript.tool_error_id = outcome.error_id
                raise TurnFailed(sentence, "internal_error") from outcome.exception
        if self._limiter.stop:
            raise TurnFailed(self._limiter.stop, self._limiter.code)
        pending = [call.id for call in batch.client_calls]
        if batch.awaiting:
            seconds = self._plan.calls.questions.seconds
            waits = [interrupt_of(one, batch.title_of(one.call), seconds) for one in batch.awaiting]
            yield self._finished(events.Interrupted(waits))
        elif pending:
            yield self._finished(events.Success(pending_tool_call_ids=pending))
        elif batch.direct is not None:
            message_id = new_id()
            text = "\n\n".join(batch.direct)
            yield events.TextMessageStart(message_id, "assistant")
            yield events.TextMessageContent(message_id, text)
            yield events.TextMessageEnd(message_id)
            invalid = None if self.extensions is None else await self.extensions.check_answer(text, message_id)
            yield invalid or self._finished(events.Success())

    def _finished(self, outcome: events.Outcome) -> RunFinished:
        log_operation(logger, self._plan.context, "The turn ends: %s", type(outcome).__name__)
        usage = self._transcript.token_usage() or None
        result = self._transcript.result
        return RunFinished(self._plan.thread_id, self._plan.run_id, outcome, result, usage)

    def _call_id(self, provider_id: str) -> str:
        """Return the provider's id of a call if it is short and unique in the thread, else a new one."""
        if self._call_ids is None:
            self._call_ids = {call.id for message in self._plan.messages for call in message.tool_calls}
        is_new = provider_id and len(provider_id) <= MAX_CALL_ID and provider_id not in self._call_ids
        call_id = provider_id if is_new and self._plan.calls.keep_ids else f"call_{new_id()}"
        self._call_ids.add(call_id)
        return call_id
