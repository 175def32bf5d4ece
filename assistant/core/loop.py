"""One turn: ask the model, run the tools it calls, tell it the results, until it answers or a limit is reached."""

from __future__ import annotations

import logging
import uuid
from collections.abc import AsyncGenerator, Iterator, Sequence
from contextlib import aclosing

from assistant.core import events
from assistant.core.deadline import Deadline, DeadlinePassed
from assistant.core.endings import TurnFailed, ask_approval, cut_short
from assistant.core.events import Event, RunError, RunFinished, RunStarted
from assistant.core.execution import Batch, Workshop
from assistant.core.guard import Guard
from assistant.core.memory import clear_results, estimate, estimate_tokens, fit, repair
from assistant.core.messages import Message, Reply, ToolCall
from assistant.core.model import ModelError, ModelRequest, TextDelta
from assistant.core.plan import Limits, Plan
from assistant.core.speaking import Speaker
from assistant.core.transcript import CloseReason, Transcript
from tools import Tool, ToolContext

__all__ = ["Limits", "Plan", "run_turn", "unanswered_calls"]

logger = logging.getLogger(__name__)

# A provider's call id that is longer is replaced; ids are stored, and sent back, with every later question.
MAX_CALL_ID = 64


async def run_turn(plan: Plan, transcript: Transcript) -> AsyncGenerator[Event, None]:
    """Run one turn and yield all of its events, from `RUN_STARTED` to `RUN_FINISHED` or `RUN_ERROR`.

    Every event is in `transcript` before it is yielded. A cancelled task, or a closed generator, stops the provider's
    request and the tools, and leaves the transcript as it is: the caller then uses `transcript.close`.
    """
    yield RunStarted(plan.thread_id, plan.run_id, plan.protocol_version)
    deadline = Deadline(plan.limits.seconds)
    try:
        async with aclosing(_Turn(plan, transcript, deadline).play()) as played:
            async for event in played:
                transcript.apply(event)
                yield event
        return
    except DeadlinePassed:
        failure = TurnFailed(f"This run has reached its limit of {plan.limits.seconds:g} seconds.", "limit_reached")
    except ModelError as exc:
        logger.warning("The model failed in run %s: %s", plan.run_id, exc)
        failure = TurnFailed(str(exc), exc.code)
    except TurnFailed as exc:
        failure = exc
    except Exception:
        error_id = uuid.uuid4().hex[:12]
        logger.exception("Run %s of tenant %s failed [%s]", plan.run_id, plan.context.tenant.slug, error_id)
        failure = TurnFailed(f"Something went wrong on our side (error {error_id}).", "internal_error")
    finally:
        deadline.close()
    reason: CloseReason = "limit" if failure.code == "limit_reached" else "error"
    for event in transcript.close(reason):
        yield event
    error = RunError(str(failure), code=failure.code, usage=transcript.token_usage() or None)
    transcript.apply(error)
    yield error


class _Turn:
    """One turn as it is played."""

    def __init__(self, plan: Plan, transcript: Transcript, deadline: Deadline) -> None:
        self._plan = plan
        self._transcript = transcript
        self._deadline = deadline
        self._estimated = 0
        self._rounds = 0
        self._call_ids: set[str] | None = None
        self._calls: tuple[ToolCall, ...] = ()
        self._guard = Guard(tool_calls=plan.limits.tool_calls, calls_per_tool=plan.limits.calls_per_tool)
        self._shop = Workshop(
            toolset=plan.toolset,
            journal=plan.journal,
            context=plan.context,
            guard=self._guard,
            transcript=transcript,
            deadline=deadline,
            client_tools=frozenset(tool.name for tool in plan.client_tools),
            parallel=plan.parallel,
            default_timeout=plan.default_timeout,
            interceptors=plan.interceptors,
            on_error=plan.on_error,
            can_ask=plan.can_ask,
        )

    async def play(self) -> AsyncGenerator[Event, None]:
        plan = self._plan
        calls = unanswered_calls(plan.messages)
        decisions = plan.decisions if calls else None
        self._transcript.expect(calls)
        while True:
            if not calls:
                async with aclosing(self._ask()) as asked:
                    async for event in asked:
                        yield event
                calls = self._calls
                if not calls or not plan.execute_tools:
                    yield self._finished(events.Success(pending_tool_call_ids=[call.id for call in calls] or None))
                    return
            batch = Batch(calls, self._shop, decisions)
            async with aclosing(batch.run()) as ran:
                async for event in ran:
                    yield event
            calls, decisions = (), None
            for event in self._conclude(batch):
                yield event
                if isinstance(event, RunFinished):
                    return

    async def _ask(self) -> AsyncGenerator[Event, None]:
        """One question to the model, streamed; what it called is in `_calls` afterwards."""
        plan = self._plan
        request = await self._request()
        speaker = Speaker(plan.new_id(), self._call_id)
        reply: Reply | None = None
        stream = plan.model.stream(request)
        try:
            while reply is None:
                with self._deadline:
                    item = await anext(stream, None)
                if isinstance(item, TextDelta) and (event := speaker.text(item.text)) is not None:
                    yield event
                elif isinstance(item, Reply):
                    reply = item
                elif item is None:
                    raise ModelError("The model's answer broke off before its end.")
                else:
                    for event in speaker.say(item):
                        yield event
        finally:
            if isinstance(stream, AsyncGenerator):
                await stream.aclose()
        for event in speaker.finish(reply):
            yield event
        self._calls = speaker.calls(reply)
        self._count(request, reply)
        if (cut := cut_short(reply, speaker.message_id)) is not None:
            yield cut

    async def _request(self) -> ModelRequest:
        """The next question. Raises `TurnFailed` when there were too many."""
        plan = self._plan
        self._rounds += 1
        if plan.limits.rounds and self._rounds > plan.limits.rounds:
            raise TurnFailed(f"This run has reached its limit of {plan.limits.rounds} model calls.", "limit_reached")
        offered = [_as_offered(tool, plan.context) for tool in await plan.toolset.offered()]
        tools = [tool for tool in offered if tool is not None]
        names = {tool.name for tool in tools}
        tools.extend(tool for tool in plan.client_tools if tool.name not in names)
        conversation = repair([*plan.messages, *self._transcript.with_images()])
        cleared = clear_results(conversation, tokens=plan.history_tokens)
        return ModelRequest(
            messages=fit(cleared, tokens=plan.history_tokens),
            tools=tools,
            options=plan.options,
            tool_choice=plan.tool_choice,
            response_format=plan.response_format,
        )

    def _count(self, request: ModelRequest, reply: Reply) -> None:
        """Count the tokens; past the limit no tool is run any more. Providers that count none are estimated."""
        model, limit = self._plan.model, self._plan.limits.tokens
        self._transcript.add_usage(model.provider, reply.model or model.name, reply.usage)
        self._transcript.finish_reason = reply.finish_reason
        if not limit:
            return
        if not reply.usage.total_tokens:
            said = estimate_tokens(reply.text) + sum(estimate_tokens(call.arguments) for call in reply.tool_calls)
            self._estimated += sum(map(estimate, request.messages)) + said
        if self._estimated + sum(spent.total_tokens for spent in self._transcript.usage.values()) >= limit:
            self._guard.stop = f"This run has reached its limit of {limit} tokens."

    def _conclude(self, batch: Batch) -> Iterator[Event]:
        """How the turn ends after a batch, if it does. Raises `TurnFailed`."""
        for outcome in batch.outcomes.values():
            if outcome.ends_run:
                sentence = f"The tool {outcome.call.name!r} failed (error {outcome.error_id})."
                raise TurnFailed(sentence, "internal_error")
        if self._guard.stop:
            raise TurnFailed(self._guard.stop, "limit_reached")
        pending = [call.id for call in batch.client_calls]
        if batch.awaiting:
            yield self._finished(events.Interrupted([ask_approval(call) for call in batch.awaiting]))
        elif pending:
            yield self._finished(events.Success(pending_tool_call_ids=pending))
        elif batch.direct is not None:
            message_id = self._plan.new_id()
            yield events.TextMessageStart(message_id, "assistant")
            yield events.TextMessageContent(message_id, "\n\n".join(batch.direct))
            yield events.TextMessageEnd(message_id)
            yield self._finished(events.Success())

    def _finished(self, outcome: events.Outcome) -> RunFinished:
        usage = self._transcript.token_usage() or None
        return RunFinished(self._plan.thread_id, self._plan.run_id, outcome, usage)

    def _call_id(self, provider_id: str) -> str:
        """The provider's id of a call if it is new to the thread and usable, else one of our own."""
        if self._call_ids is None:
            self._call_ids = {call.id for message in self._plan.messages for call in message.tool_calls}
        is_new = provider_id and len(provider_id) <= MAX_CALL_ID and provider_id not in self._call_ids
        call_id = provider_id if is_new and self._plan.keep_call_ids else f"call_{self._plan.new_id()}"
        self._call_ids.add(call_id)
        return call_id


def unanswered_calls(messages: Sequence[Message]) -> tuple[ToolCall, ...]:
    """The calls of the last assistant message that have no result."""
    answered: set[str] = set()
    for message in reversed(messages):
        if message.role == "tool":
            answered.add(message.tool_call_id)
        elif message.role == "assistant":
            return tuple(call for call in message.tool_calls if call.id not in answered)
    return ()


def _as_offered(tool: Tool, context: ToolContext) -> Tool | None:
    try:
        return tool.for_context(context)
    except Exception:
        logger.exception("Tool %s could not say whether it is available", tool.name)
        return None
