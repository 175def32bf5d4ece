"""Calls the hooks of the extensions that act in a turn. A turn without any does not enter this module."""

from __future__ import annotations

import logging
from collections import Counter, deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import replace
from typing import Any

import msgspec

from assistant.core.conversation.transcript import Transcript
from assistant.core.conversation.turn_endings import REPAIRS, AnswerRefused, GuardrailTripped, TurnFailed, cut_message
from assistant.core.extensions.extension import Extension, ExtensionRun, ShippedExtension, with_hook
from assistant.core.llm.protocol import Model, ModelError, ModelRequest
from assistant.core.toolcalls.protocols import Admission, Toolset
from assistant.core.turn.plan import Plan
from assistant.core.values.deadline import Deadline, DeadlinePassed
from assistant.core.values.events import Event
from assistant.core.values.messages import Message, Reply, ToolCall
from assistant.core.values.untrusted import NOTHING_READ, ReadText
from assistant.toolkit import Tool, ToolError
from assistant.toolkit.calls.gate import HandedIn, called, refuse_generator
from assistant.toolkit.logs import log_extra
from assistant.toolkit.translation import gettext

logger = logging.getLogger(__name__)

# Characters of what the extensions of a turn tell the model beside its prompt.
MAX_INSTRUCTIONS = 20_000


class TurnExtensions:
    """The extensions of one turn, and what belongs to this turn of each.

    Args:
        model: returns the model that is asked now.
        events: for the clients, before the turn's next event.
    """

    def __init__(
        self,
        plan: Plan,
        extensions: Sequence[Extension[Any]],
        transcript: Transcript,
        deadline: Deadline,
        *,
        model: Callable[[], Model],
        events: deque[Event],
    ) -> None:
        self._plan = plan
        self._transcript = transcript
        self._deadline = deadline
        self._instructions: tuple[Message, ...] = ()
        self._repairs: Counter[str] = Counter()
        self._reasons: dict[str, str] = {}
        asked = tuple(plan.messages)
        self._runs: list[tuple[Extension[Any], ExtensionRun[Any]]] = [
            (
                one,
                ExtensionRun(
                    plan.context, self._state_of(one), asked, transcript, model, events, grace=plan.calls.grace
                ),
            )
            for one in extensions
        ]

    def _state_of(self, extension: Extension[Any]) -> Any:
        """Return the extension's state: as the process that began the run has left it, or a new one."""
        if extension.state_type is None:
            return None
        states = self._transcript.extension_states
        kept = states.get(extension.name)
        try:
            state = extension.state_type() if kept is None else msgspec.convert(kept, extension.state_type)
        except msgspec.ValidationError:
            logger.exception("The state of the extension %s does not fit its type", extension.name)
            state = extension.state_type()
        states[extension.name] = state
        return state

    def _with(self, hook: str) -> Iterator[tuple[Extension[Any], ExtensionRun[Any]]]:
        return ((extension, run) for extension, run in self._runs if with_hook([extension], hook))

    async def _call(self, extension: Extension[Any], hook: str, *arguments: Any, kind: type | None = None) -> Any:
        if isinstance(extension, ShippedExtension):
            return await getattr(extension, hook)(*arguments)
        asked = HandedIn(
            getattr(extension, hook),
            arguments,
            hook,
            extension.name,
            kind,
            extension.seconds,
            self._plan.calls.grace,
            self._transcript.timeline.leave,
        )
        answer = await called(asked)
        refuse_generator(answer, asked.label)
        return answer

    @contextmanager
    def _failures(self, extension: Extension[Any], hook: str, code: str) -> Iterator[None]:
        """Log what a hook raises, and end the turn if the extension guards, or has ended it itself."""
        try:
            yield
        except GuardrailTripped as exc:
            self._transcript.guardrail = exc.guardrail or extension.name
            raise TurnFailed(str(exc) or gettext("This is not allowed."), code) from exc
        except DeadlinePassed:
            raise
        except Exception as exc:
            is_repair = hook == "check_answer" and isinstance(exc, ToolError)
            if is_repair or extension.guards:
                raise
            context = self._plan.context
            logger.exception("The extension %s failed in %s", extension.name, hook, extra=log_extra(context))

    async def opened(self) -> None:
        """Call what comes before the first request, and collect instructions. Raises `TurnFailed`."""
        for extension, run in self._with("opened"):
            with self._failures(extension, "opened", "invalid_input"), self._deadline:
                await self._call(extension, "opened", run)
        told = []
        for extension, run in self._with("instructions"):
            with self._failures(extension, "instructions", "invalid_input"), self._deadline:
                told.append(await self._call(extension, "instructions", run, kind=str))
        text = "\n\n".join(filter(str.strip, told))
        if len(text) > MAX_INSTRUCTIONS:
            logger.warning("Instructions of extensions are cut at %d characters", MAX_INSTRUCTIONS)
        self._instructions = (Message("system", text[:MAX_INSTRUCTIONS]),) if text else ()

    async def tools(self) -> list[Tool]:
        """Return the tools that extensions add."""
        found: list[Tool] = []
        for extension, run in self._with("tools"):
            with self._failures(extension, "tools", "invalid_input"), self._deadline:
                found += await self._call(extension, "tools", run, kind=Sequence)
        return found

    async def before_request(self, request: ModelRequest) -> ModelRequest:
        """Return the request that is sent: with instructions, and the reasons why answers were not accepted."""
        if self._instructions or self._reasons:
            request = replace(request, messages=list(self._messages(request.messages)))
        for extension, run in self._with("before_request"):
            with self._failures(extension, "before_request", "invalid_input"), self._deadline:
                request = await self._call(extension, "before_request", run, request, kind=ModelRequest)
        return request

    def _messages(self, messages: Sequence[Message]) -> Iterator[Message]:
        leading = 1 if messages and messages[0].role == "system" else 0
        yield from messages[:leading]
        yield from self._instructions
        for message in messages[leading:]:
            yield message
            if message.role == "assistant" and message.id in self._reasons:
                yield Message("user", self._reasons[message.id])

    async def after_event(self, event: Event) -> None:
        """Show the extensions an event of an answer."""
        for extension, run in self._with("after_event"):
            with self._failures(extension, "after_event", "provider_error"), self._deadline:
                await self._call(extension, "after_event", run, event)

    async def after_failure(self, error: ModelError) -> bool:
        """Return whether an extension has the model asked again after a request that failed."""
        for extension, run in self._with("after_failure"):
            with self._failures(extension, "after_failure", "provider_error"), self._deadline:
                if await self._call(extension, "after_failure", run, error, kind=bool):
                    return True
        return False

    async def after_reply(self, reply: Reply) -> None:
        """Show the extensions what the model has answered."""
        for extension, run in self._with("after_reply"):
            limit = self._deadline if reply.tool_calls else self._limit_after(extension)
            with self._failures(extension, "after_reply", "provider_error"), limit:
                await self._call(extension, "after_reply", run, reply)

    def _limit_after(self, extension: Extension[Any]) -> AbstractContextManager[None]:
        """Return the time limit of a hook that comes after a complete answer.

        An extension that does not guard can do without its hook: its time is its own, and what it took is not missing
        to the others.
        """
        if extension.guards:
            return self._deadline
        return nullcontext() if self._deadline.has_passed else self._deadline.paused()

    async def check_answer(self, text: str, message_id: str) -> Event | None:
        """Check a complete answer. Returns the event that marks it as not accepted: then the model is asked again.

        Raises:
            TurnFailed: an extension has ended the turn, or there were too many repairs.
        """
        answer: Any = text
        for extension, run in self._with("check_answer"):
            run.text = text
            try:
                with self._failures(extension, "check_answer", "provider_error"), self._limit_after(extension):
                    answer = await self._call(extension, "check_answer", run, answer)
            except ToolError as exc:
                return self._to_repair(extension, exc, message_id)
        if answer is not text:
            self._transcript.output = answer
        for extension, run in self._with("result"):
            with self._failures(extension, "result", "provider_error"), self._limit_after(extension):
                self._transcript.result = await self._call(extension, "result", run, answer)
        return None

    def _to_repair(self, extension: Extension[Any], refusal: ToolError, message_id: str) -> Event:
        self._repairs[extension.name] += 1
        if self._repairs[extension.name] > REPAIRS:
            sentence = gettext("The model gave no answer that was accepted. %(reason)s") % {"reason": refusal}
            failed = refusal.failed if isinstance(refusal, AnswerRefused) else sentence
            raise TurnFailed(failed, "provider_error") from refusal
        is_worded = isinstance(refusal, AnswerRefused)
        told = str(refusal) if is_worded else f"This answer is not accepted. {refusal} Answer again."
        self._reasons[message_id] = told
        return cut_message(message_id, "invalid_form")

    async def finished(self) -> None:
        """Call what follows a turn that has ended."""
        for extension, run in self._with("finished"):
            try:
                await self._call(extension, "finished", run)
            except Exception:
                logger.exception("The extension %s failed in finished", extension.name)


class ExtendedToolset:
    """A turn's toolset with the tools that its extensions add; its own have precedence.

    Args:
        added: returns those tools; it is called once.
    """

    def __init__(self, toolset: Toolset, added: Callable[[], Any]) -> None:
        self._toolset = toolset
        self._added = added
        self._tools: dict[str, Tool] | None = None

    async def _further(self) -> dict[str, Tool]:
        if self._tools is None:
            self._tools = {tool.name: tool for tool in await self._added()}
        return self._tools

    async def offered(self) -> Sequence[Tool]:
        own = await self._toolset.offered()
        names = {tool.name for tool in own}
        return [*own, *(tool for name, tool in (await self._further()).items() if name not in names)]

    async def admit(self, calls: Sequence[ToolCall], read: ReadText = NOTHING_READ) -> Sequence[Admission]:
        admissions = await self._toolset.admit(calls, read)
        further = await self._further()
        return [
            Admission(further[call.name], rule="Added by an extension.")
            if admission.tool is None and call.name in further
            else admission
            for call, admission in zip(calls, admissions, strict=True)
        ]
