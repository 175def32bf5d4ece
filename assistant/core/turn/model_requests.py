"""Makes a turn's requests to its model, counts what they use, and recovers from those that fail.

Which models have just failed repeatedly is kept in the process, so that runs with a fallback do not wait for them
again: a circuit opens after failures in a row, and after `COOLDOWN_SECONDS` one run tries the model again.
"""

from __future__ import annotations

import asyncio
import logging
import random
import time
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from cachetools import LRUCache

from assistant.core.conversation.transcript import Transcript
from assistant.core.conversation.turn_endings import SUPERSEDED, TurnFailed
from assistant.core.llm.protocol import UNAVAILABLE, UNREAD, ModelError, ModelRequest, usage_of, usage_of_partial
from assistant.core.streaming.event_writer import EventWriter
from assistant.core.toolcalls.admission import CallLimiter
from assistant.core.turn.plan import Plan
from assistant.core.turn.provider_calls import ProviderCalls
from assistant.core.turn.turn_extensions import TurnExtensions
from assistant.core.values.deadline import Deadline
from assistant.core.values.events import Custom, Event
from assistant.core.values.history_window import Estimates, repair, trim
from assistant.core.values.messages import Message, Reply, Usage
from assistant.core.values.untrusted import ReadText, for_model
from assistant.toolkit import Tool
from assistant.toolkit.definition import conditions
from assistant.toolkit.logs import log_extra, log_operation
from assistant.toolkit.translation import gettext

logger = logging.getLogger(__name__)


MAX_FAILURES = 3
COOLDOWN_SECONDS = 30.0
MAX_CIRCUITS = 2_000


@dataclass(slots=True)
class _Circuit:
    failures: int = 0
    open_until: float = 0.0


class HasCircuit(Protocol):
    """What can be out of order: `circuit_key` distinguishes it, else its `provider` and `name`."""

    @property
    def provider(self) -> str: ...

    @property
    def name(self) -> str: ...


class Circuits:
    """The circuits of models, by address, key and name; the least recently used are forgotten.

    Args:
        clock: returns seconds.

    Attributes:
        known: those of models that have failed lately.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self.known: LRUCache[Hashable, _Circuit] = LRUCache(MAX_CIRCUITS)

    def is_open(self, model: HasCircuit) -> bool:
        """Return whether a model should not be asked now. After the cooldown, False once, for a trial."""
        circuit = self.known.get(_key(model))
        if circuit is None or circuit.failures < MAX_FAILURES:
            return False
        now = self._clock()
        if now < circuit.open_until:
            return True
        circuit.open_until = now + COOLDOWN_SECONDS  # for all but the run that tries it
        return False

    def failed(self, model: HasCircuit) -> None:
        """Record that a model could not answer."""
        circuit = self.known.setdefault(_key(model), _Circuit())
        circuit.failures += 1
        circuit.open_until = self._clock() + COOLDOWN_SECONDS

    def answered(self, model: HasCircuit) -> None:
        """Record that a model has answered."""
        self.known.pop(_key(model), None)


def _key(model: HasCircuit) -> Hashable:
    # Two tenants with one address and different keys do not share a circuit: a provider's limits are for each key.
    return getattr(model, "circuit_key", None) or (model.provider, model.name)


CIRCUITS = Circuits()


# How often a request is repeated after a temporary failure, such as a 503, and the pauses before that, in seconds.
MAX_REPEATS = 2
FIRST_PAUSE = 0.5
MAX_PAUSE = 8.0
# How often a turn lets the model correct calls and typed answers that the provider could not read.
MAX_CALL_REPAIRS = 2
# The share of the estimated tokens that is kept of a conversation that was too long for the model.
KEPT_SHARE = 0.5
REPAIR_CALL = (
    "[The call of a tool that you wrote could not be read, and nothing was run. Call the tool again, with arguments "
    "that are one valid JSON object, or answer without it.]"
)
REPAIR_ANSWER = (
    "[The answer that you wrote is not valid JSON of the required form, and nobody has read it. Answer again, with one "
    "valid JSON object of that form and nothing else.]"
)


class Recovery:
    """Decides what follows a failed request: the same again, a changed one, another model, or the turn's failure.

    Attributes:
        model: the model to ask now: the plan's, or one of its fallbacks.
        prices: what its tokens cost.
        history_tokens: how many tokens of the conversation to send; 0 for all.
        without_files: whether images and PDFs are left out, to the end of the turn.
        repair_messages: messages that are sent after the conversation and are not part of it.
        sent: the part of the conversation that is sent.
        has_failed: whether the latest request has failed.
    """

    def __init__(self, plan: Plan, transcript: Transcript, deadline: Deadline, estimates: Estimates) -> None:
        self.model = plan.model
        self.prices = plan.settings.prices
        self.history_tokens = plan.settings.history_tokens
        self.without_files = False
        self.has_failed = False
        self.repair_messages: tuple[Message, ...] = ()
        self._plan = plan
        self._transcript = transcript
        self._deadline = deadline
        self._estimates = estimates
        self._fallbacks = list(plan.fallbacks)
        self.sent: Sequence[Message] = ()
        self._repeats = self._call_repairs = 0
        self._was_empty = self._was_too_long = False

    def before_request(self) -> list[Event]:
        """Pass over models whose circuit is open, if there is a fallback; returns the events that say so."""
        events: list[Event] = []
        while self._fallbacks and CIRCUITS.is_open(self.model):
            events.append(self._fall_back("circuit_open"))
        return events

    def answered(self) -> None:
        """Note that the request was answered, after one that failed."""
        CIRCUITS.answered(self.model)
        self.has_failed = False
        self._repeats = 0
        self._was_empty = False
        self._was_too_long = False
        self.repair_messages = ()

    async def after(self, error: ModelError, *, is_begun: bool, has_calls: bool) -> list[Event] | None:
        """Return the events to send before the next request; None if the turn fails with this error.

        Args:
            is_begun: whether any part of the answer was shown.
            has_calls: whether a call was.
        """
        if error.kind in UNAVAILABLE:
            CIRCUITS.failed(self.model)
        if error.kind == "written_call":
            self._transcript.timeline.wrote_calls("failed")
        self.has_failed = True
        events = None
        if error.kind == "empty":
            events = self._again_if(not self._was_empty)
            self._was_empty = True
        elif error.kind in UNREAD and not has_calls:  # models reason and talk before they call
            events = self._again_if(self._repair_call(error))
        elif is_begun:
            return None
        elif error.kind == "too_long" and self._fallbacks and error.code == "provider_rate_limited":
            events = [self._fall_back("busy")]  # it may have more tokens a minute
        elif error.kind == "too_long":
            events = self._again_if(not self._was_too_long and self._trim_harder())
            self._was_too_long = True
        elif error.kind == "bad_file":
            events = self._again_if(not self.without_files and any(message.media for message in self.sent))
            self.without_files = True
        elif error.is_worth_repeating and self._repeats < MAX_REPEATS:
            await self._pause()
            events = []
        elif error.kind in UNAVAILABLE and self._fallbacks:
            events = [self._fall_back(error.kind)]
        if events is not None:
            self._transcript.timeline.failed(error.cause)
            details = self._plan.run_id, error, error.cause
            logger.warning("Run %s goes on after: %s (%s)", *details, extra=log_extra(self._plan.context))
        return events

    @staticmethod
    def _again_if(is_worth_it: bool) -> list[Event] | None:
        return [] if is_worth_it else None

    def _trim_harder(self) -> bool:
        """Halve what is sent of the conversation; returns whether that can leave anything out."""
        tokens = self._estimates.of(self.sent)
        self.history_tokens = max(1, int(tokens * KEPT_SHARE))
        return len([message for message in self.sent if message.role != "system"]) > 1

    def _repair_call(self, error: ModelError) -> bool:
        """Show the model the call or answer that could not be read; returns whether it may try again."""
        self._call_repairs += 1
        if self._call_repairs > MAX_CALL_REPAIRS:
            return False
        sources = self._transcript.read.sources
        wrote = (Message("assistant", error.failed_call, sources=sources),) if error.failed_call.strip() else ()
        self.repair_messages = (*wrote, Message("user", REPAIR_CALL if error.kind == "bad_call" else REPAIR_ANSWER))
        return True

    async def _pause(self) -> None:
        pause = min(FIRST_PAUSE * 2**self._repeats, MAX_PAUSE) * (1 - random.random() / 4)  # noqa: S311 - no secret  # nosec B311
        self._repeats += 1
        with self._deadline:
            await asyncio.sleep(pause)

    def _fall_back(self, reason: str) -> Event:
        """Ask the next fallback from now on, to the end of the turn; returns the event that says so."""
        replaced = self.model
        fallback = self._fallbacks.pop(0)
        self.model = fallback.model
        self.prices = fallback.prices
        self._repeats = 0
        self._transcript.timeline.fell_back(self.model.provider, self.model.name, reason)
        logger.warning(
            "In run %s, %s of %s answers in place of %s of %s: %s",
            self._plan.run_id,
            self.model.name,
            self.model.provider,
            replaced.name,
            replaced.provider,
            reason,
            extra=log_extra(self._plan.context),
        )
        value = {"provider": self.model.provider, "model": self.model.name, "replaces": replaced.name, "reason": reason}
        return Custom("model.fallback", value)


class ModelRequests:
    """The requests of one turn.

    Args:
        limiter: stops further tools once the tokens reach a limit, and counts the provider's calls.
        extensions: those that act in the turn; None if there are none.

    Attributes:
        recovery: what follows a request that has failed; it knows the model to ask now.
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
        self.rounds = sum(one.role == "assistant" for one in transcript.messages if not one.is_superseded)
        self._provider_calls: ProviderCalls | None = None
        self._plan = plan
        self._transcript = transcript
        self._limiter = limiter
        self._extensions = extensions
        self._estimates = Estimates()
        self.recovery = Recovery(plan, transcript, deadline, self._estimates)
        limits = plan.settings.limits
        self._has_budget = bool(limits.tokens or limits.cost or plan.allowances)

    @property
    def provider_calls(self) -> ProviderCalls:
        """The calls that the provider runs itself."""
        if self._provider_calls is None:
            self._provider_calls = ProviderCalls(self._plan, self._transcript, self._limiter)
        return self._provider_calls

    async def make(self) -> ModelRequest:
        """Make the next request to the model. Raises `TurnFailed` if there were too many."""
        plan = self._plan
        settings = self._plan.settings
        recovery = self.recovery
        self.rounds += 1
        rounds = settings.limits.rounds
        if rounds and self.rounds > rounds:
            sentence = gettext("This run has reached its limit of %(count)d model calls.") % {"count": rounds}
            raise TurnFailed(sentence, "limit_reached")
        offered = await offered_tools(plan)
        made = self._transcript.messages
        conversation = repair([*plan.messages, *(self._transcript.with_images() if self._transcript.images else made)])
        tokens, estimates = recovery.history_tokens, self._estimates
        sent = trim(conversation, tokens=tokens, estimates=estimates, count=settings.history_messages)
        recovery.sent = sent
        self._transcript.read = ReadText.of(sent)
        tools = offered
        if self._provider_calls is not None or [tool for tool in offered if tool.is_provider_side]:
            tools = await self.provider_calls.allowed(offered, recovery.model, self._transcript.read)
        request = ModelRequest(
            messages=for_model([*sent, *recovery.repair_messages]),
            tools=tools,
            options=settings.options,
            without_files=recovery.without_files,
        )
        if self._extensions is not None:
            request = await self._extensions.before_request(request)
        counts = self.rounds, recovery.model.name, len(request.messages), len(conversation), len(request.tools)
        log_operation(logger, plan.context, "Request %d to %s: %d of %d messages, %d tools", *counts)
        self._transcript.timeline.ask(tools=len(request.tools))
        return request

    def count(self, request: ModelRequest, reply: Reply) -> None:
        """Count the tokens of an answer; once they reach a limit, no further tool runs."""
        model = self.recovery.model
        plan = self._plan
        usage = self.recovery.prices.priced(usage_of(request, reply), reply.model or model.name, model.name)
        counts = usage.input_tokens, usage.output_tokens, len(reply.tool_calls)
        log_operation(logger, plan.context, "Answer (%s): %d tokens in, %d out, %d calls", reply.finish_reason, *counts)
        self._transcript.add_usage(model.provider, reply.model or model.name, usage)
        self._transcript.finish_reason = reply.finish_reason
        self._transcript.citations += reply.citations
        self.rounds += reply.repeated_requests
        if reply.repeated_requests:
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
        model = self.recovery.model
        if (usage := usage_of_partial(request, characters, exc)) is not None:
            priced = self.recovery.prices.priced(usage, model.name)
            self._transcript.add_usage(model.provider, model.name, priced)
            self._transcript.timeline.answered(model.name, priced)

    async def after(self, error: ModelError, writer: EventWriter) -> Sequence[Event] | None:
        """Return the events to send before the next request, after one that failed; None if the turn fails.

        Args:
            writer: has written what arrived of its answer.
        """
        found = await self.recovery.after(error, is_begun=writer.is_begun, has_calls=writer.has_calls)
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
    offered = await plan.toolset.offered()
    if known or [tool for tool in offered if tool.has_conditions]:
        offered = await conditions.offered_tools(offered, plan.context, known)
    tools = [tool for tool in offered if (tool.asks is None and not tool.waits) or plan.calls.serves(tool)]
    names = {tool.name for tool in tools}
    return [*tools, *(tool for tool in plan.client_tools if tool.name not in names)]
