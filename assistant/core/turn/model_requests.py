"""Makes a turn's requests to its model, counts what they use, and recovers from those that fail."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence

from assistant.core.conversation.open_parts import SUPERSEDED
from assistant.core.conversation.transcript import Transcript
from assistant.core.conversation.turn_endings import TurnFailed
from assistant.core.llm.protocol import Model, ModelError, ModelRequest
from assistant.core.llm.usage_estimate import usage_of, usage_of_partial
from assistant.core.streaming.event_writer import EventWriter
from assistant.core.toolcalls.call_limits import CallLimiter
from assistant.core.turn.plan import Plan
from assistant.core.turn.provider_calls import ProviderCalls
from assistant.core.turn.recovery import Recovery
from assistant.core.turn.turn_extensions import TurnExtensions
from assistant.core.values.deadline import Deadline
from assistant.core.values.events import Custom, Event
from assistant.core.values.history_window import Estimates, repair, trim
from assistant.core.values.messages import Reply, Usage, not_superseded
from assistant.core.values.untrusted import ReadText, for_model
from assistant.toolkit import Tool
from assistant.toolkit.definition import conditions
from assistant.toolkit.logs import log_operation
from assistant.toolkit.translation import gettext

logger = logging.getLogger(__name__)


class ModelRequests:
    """The requests of one turn.

    Args:
        limiter: stops further tools once the tokens reach a limit, and counts the provider's calls.
        extensions: those that act in the turn; None if there are none.

    Attributes:
        rounds: how many were made, including those of an earlier process as far as they are known, and those without
            tools that the provider refuses. Other repetitions are not counted.
    """

    def __init__(
        self,
        plan: Plan,
        transcript: Transcript,
        deadline: Deadline,
        limiter: CallLimiter,
        *,
        extensions: TurnExtensions | None,
    ) -> None:
        self.rounds = sum(one.role == "assistant" for one in not_superseded(transcript.messages))
        self._provider_calls: ProviderCalls | None = None
        self._plan = plan
        self._transcript = transcript
        self._limiter = limiter
        self._extensions = extensions
        self._estimates = Estimates()
        self._recovery = Recovery(plan, transcript, deadline, self._estimates)
        limits = plan.settings.limits
        self._has_budget = bool(limits.tokens or limits.cost or plan.allowances)

    @property
    def provider_calls(self) -> ProviderCalls:
        """The calls that the provider runs itself."""
        if self._provider_calls is None:
            self._provider_calls = ProviderCalls(self._plan, self._transcript, self._limiter)
        return self._provider_calls

    @property
    def model(self) -> Model:
        """The model to ask now."""
        return self._recovery.model

    def before(self) -> Sequence[Event]:
        """Return the events to send before a request: that another model takes over."""
        return self._recovery.before_request() if self._plan.fallbacks else ()

    async def make(self) -> ModelRequest:
        """Make the next request to the model. Raises `TurnFailed` if there were too many."""
        plan, settings, recovery = self._plan, self._plan.settings, self._recovery
        self.rounds += 1
        rounds = settings.limits.rounds
        if rounds and self.rounds > rounds:
            sentence = gettext("This run has reached its limit of %(count)d model calls.") % {"count": rounds}
            raise TurnFailed(sentence, "limit_reached")
        offered = await offered_tools(plan)
        conversation = repair([*plan.messages, *self._transcript.with_images()])
        tokens, estimates = recovery.history_tokens, self._estimates
        sent = trim(conversation, tokens=tokens, estimates=estimates, count=settings.history_messages)
        recovery.sending(sent)
        self._transcript.read = ReadText.of(sent)
        tools = offered
        if self._provider_calls is not None or [tool for tool in offered if tool.is_provider_side]:
            tools = await self.provider_calls.allowed(offered, self.model, self._transcript.read)
        request = ModelRequest(
            messages=for_model([*sent, *recovery.repair_messages]),
            tools=tools,
            options=settings.options,
            without_files=recovery.without_files,
        )
        if self._extensions is not None:
            request = await self._extensions.before_request(request)
        counts = self.rounds, self.model.name, len(request.messages), len(conversation), len(request.tools)
        log_operation(logger, plan.context, "Request %d to %s: %d of %d messages, %d tools", *counts)
        self._transcript.timeline.ask(tools=len(request.tools))
        return request

    def count(self, request: ModelRequest, reply: Reply) -> None:
        """Count the tokens of an answer; once they reach a limit, no further tool runs."""
        model, plan = self.model, self._plan
        usage = self._recovery.prices.priced(usage_of(request, reply), reply.model or model.name, model.name)
        counts = usage.input_tokens, usage.output_tokens, len(reply.tool_calls)
        log_operation(logger, plan.context, "Answer (%s): %d tokens in, %d out, %d calls", reply.finish_reason, *counts)
        self._transcript.add_usage(model.provider, reply.model or model.name, usage)
        self._transcript.finish_reason = reply.finish_reason
        self._transcript.citations += reply.citations
        self.rounds += reply.repeated_requests
        self._transcript.timeline.repeated(reply.repeated_requests)
        self._transcript.timeline.answered(reply.model or model.name, usage, reply.finish_reason)
        if reply.has_read_calls:
            self._transcript.timeline.wrote_calls("run")
        if self._has_budget:
            usage = sum(self._transcript.usage.values(), Usage())
            self._limiter.check_budget(usage, plan.allowances)

    def count_partial(self, request: ModelRequest, reply: Reply | None, characters: int, exc: BaseException) -> None:
        """Count the tokens of an answer that broke off after `characters`; does nothing if there was a `reply`."""
        if reply is not None:
            return
        if isinstance(exc, ModelError):
            self.rounds += exc.repeated_requests
            self._transcript.timeline.repeated(exc.repeated_requests)
        model = self.model
        if (usage := usage_of_partial(request, characters, exc)) is not None:
            priced = self._recovery.prices.priced(usage, model.name)
            self._transcript.add_usage(model.provider, model.name, priced)
            self._transcript.timeline.answered(model.name, priced)

    def answered(self) -> None:
        """Note that the latest request was answered."""
        self._recovery.answered()

    async def after(self, error: ModelError, writer: EventWriter) -> Sequence[Event] | None:
        """Return the events to send before the next request, after one that failed; None if the turn fails.

        Args:
            writer: has written what arrived of its answer.
        """
        found = await self._recovery.after(error, is_begun=writer.is_begun, has_calls=writer.has_calls)
        if found is None:
            return None
        self.rounds -= 1
        ended = [*writer.end_texts()]
        if writer.has_text:
            ended.append(Custom("message.cut", {"messageId": writer.message_id, "reason": SUPERSEDED}))
        return [*ended, *found]


async def offered_tools(plan: Plan, known: Mapping[str, conditions.Offer] | None = None) -> list[Tool]:
    """Return the tools of the next request: those of the toolset that are available now, then the client's.

    Tools that ask a person are left out where nobody can be asked or no form comes back, and those that wait where
    nothing goes on later.

    Args:
        known: what tools have answered already, by their names; they are not asked again.
    """
    offered = await conditions.offered_tools(await plan.toolset.offered(), plan.context, known)
    tools = [tool for tool in offered if _is_possible(tool, plan)]
    names = {tool.name for tool in tools}
    return [*tools, *(tool for tool in plan.client_tools if tool.name not in names)]


def _is_possible(tool: Tool, plan: Plan) -> bool:
    questions = plan.calls.questions
    has_person = questions.can_ask and questions.has_forms
    return (has_person or tool.asks is None) and (plan.calls.callbacks is not None or not tool.waits)
