"""The `Toolset` and `Journal` protocols, the values they exchange with the loop, and plain implementations."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal, Protocol, runtime_checkable

import pydantic_core
from pydantic import BaseModel

from assistant.core.conversation.sub_agent_transcripts import SubAgentRun
from assistant.core.values.asked import Asked
from assistant.core.values.messages import ToolCall
from assistant.core.values.switched_off import SwitchedOff
from assistant.core.values.untrusted import NOTHING_READ, ReadText
from assistant.toolkit import Media, Registry, Tool
from assistant.toolkit.calls.gate import discard
from assistant.toolkit.definition.settings import given_config, given_secrets
from assistant.toolkit.waiting import Pending

Policy = Literal["on", "ask", "off"]
# "unknown": the call may have taken effect, and nobody knows.
Status = Literal[
    "ok", "error", "unknown", "refused", "timeout", "cancelled", "awaiting_approval", "declined", "pending"
]
# Statuses of calls that have no result yet, with which the run ends.
WAITS: frozenset[Status] = frozenset({"awaiting_approval", "pending"})


@dataclass(frozen=True, slots=True)
class Admission:
    """Whether one call is allowed at this moment, and what the tool needs for it.

    Attributes:
        tool: None if there is no tool with that name.
        policy: "on" to run the call, "ask" to run it after a person's approval, "off" to refuse it.
        rule: the rule that decided, as a sentence for the audit.
        config: the tool's settings.
        callable_names: names of the permitted tools, which are suggested to the model if this call is refused.
        tools: the tools with these names; those that are not available in the context are not suggested.
        outage: why a permitted tool cannot be used at present, as a sentence for the model; empty if it can.
        switched_off: why operators have switched a permitted tool off for everyone; None if they have not.
        warning: what a person who is asked should know, as a sentence.
    """

    tool: Tool | None
    policy: Policy = "on"
    rule: str = ""
    config: Any = None
    secrets: Mapping[str, str] = field(default_factory=dict, repr=False)
    callable_names: tuple[str, ...] = ()
    tools: Mapping[str, Tool] = field(default_factory=dict, repr=False)
    outage: str = ""
    warning: str = ""
    switched_off: SwitchedOff | None = None


@dataclass(frozen=True, slots=True)
class Decision:
    """A person's decision on a call that waited for approval.

    Attributes:
        edited_arguments: used instead of the model's arguments.
        reason: why the call was declined; the model reads it.
        response: the result of the call, a text or what JSON can hold; the tool is then not run.
        is_answer: `response` is the answer to a tool's question.
        answers: if a running tool asked: the answers to all of its questions so far, by their keys. It is run again.

    Raises:
        TypeError: `approved` is neither True nor False, such as a text or a coroutine that nobody has awaited; or
            `response` cannot be JSON.
    """

    approved: bool
    edited_arguments: Mapping[str, Any] | None = None
    reason: str = ""
    response: Any = None
    is_answer: bool = False
    answers: Mapping[str, Mapping[str, Any]] | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        given: object = self.approved
        if not isinstance(given, bool):
            discard(given)
            raise TypeError(f"approved of a Decision must be True or False, not a {type(given).__name__}.")
        if self.response is not None and not isinstance(self.response, str):
            try:
                text = pydantic_core.to_json(self.response).decode()
            except pydantic_core.PydanticSerializationError as exc:
                raise TypeError(f"response of a Decision must be a text or JSON: {exc}") from None
            object.__setattr__(self, "response", text)


@dataclass(frozen=True, slots=True)
class PlannedCall:
    """A call that is about to run.

    Attributes:
        arguments: the model's text; if a person edited them, theirs as JSON.
        agent: the sub-agent that made the call; empty for the run's own assistant.
        checked: the validated arguments, by the names of the handler's parameters; None if nobody has validated them.
        fields: the validated fields of the tool's `augmentation`, which are among `arguments` too; None without one.
    """

    call: ToolCall
    tool: Tool
    admission: Admission
    arguments: str
    decision: Decision | None = None
    agent: str = ""
    checked: Mapping[str, Any] | None = field(default=None, repr=False, compare=False)
    fields: BaseModel | None = field(default=None, repr=False, compare=False)


@dataclass(frozen=True, slots=True)
class ToolOutcome:
    """The outcome of one call.

    Attributes:
        content: what the model reads.
        display: what a page shows.
        error: what went wrong, for the audit.
        full: the whole text of a `content` that was cut.
        ends_run: whether the failure ends the run, because of the `on_error` of the tool or the assistant.
        media: the files that the tool returned.
        files: the same files as clients get them (`name`, `mediaType`, `size`, `url`).
        agent: the sub-agent that made the call; empty for the run's own assistant.
        sub_agents: the runs of sub-agents that the call started.
        quota: if a quota is used up: the sentence that says so. The call was not run, and the run ends.
        sources: where untrusted text in `content` came from.
        warning: what a person who is asked should know, as a sentence.
        asked: what else a person is shown about a call that waits.
        pending: what is waited for, of a call whose result comes later.
        exception: what the tool raised, if it ends the run.
    """

    call: ToolCall
    status: Status
    content: str = ""
    display: Any = None
    error: str = ""
    error_id: str = ""
    rule: str = ""
    started_at: datetime | None = None
    duration_ms: int = 0
    return_direct: bool = False
    full: str = field(default="", repr=False)
    ends_run: bool = False
    media: tuple[Media, ...] = field(default=(), repr=False)
    files: tuple[Mapping[str, Any], ...] = ()
    agent: str = ""
    sub_agents: tuple[SubAgentRun, ...] = field(default=(), repr=False)
    quota: str = ""
    sources: tuple[str, ...] = ()
    warning: str = ""
    asked: Asked | None = field(default=None, repr=False)
    pending: Pending | None = None
    exception: BaseException | None = field(default=None, repr=False, compare=False)


class Toolset(Protocol):
    """The tools of a run, and the policy for calling them."""

    async def offered(self) -> Sequence[Tool]:
        """Return the tools to offer; called before every request to the model."""

    async def admit(self, calls: Sequence[ToolCall], read: ReadText = NOTHING_READ) -> Sequence[Admission]:
        """Return the policy for each call, in their order; called for every batch.

        Args:
            read: the untrusted text that the model has read.
        """


class RunTakenOver(Exception):
    """Another process has the run now: its calls must not begin, and the turn stops without an ending."""


class Journal(Protocol):
    """Records tool calls."""

    async def starting(self, batch: Sequence[PlannedCall]) -> Mapping[str, ToolOutcome]:
        """Record calls before they run.

        Returns:
            By call id, the outcomes of those that must not run: they ran before, or a quota is used up.

        Raises:
            RunTakenOver: another process has taken the run over. Nothing was recorded.
        """

    async def keep(self, call: ToolCall, media: Sequence[Media]) -> Sequence[Mapping[str, Any]]:
        """Store the files of a call that has just ended, and return them as clients get them."""

    async def finished(self, outcomes: Sequence[ToolOutcome]) -> None:
        """Record the outcomes of a batch, including calls that were not run."""


@runtime_checkable
class LateJournal(Protocol):
    """A `Journal` that also records how calls end after their time."""

    async def ended_late(self, outcome: ToolOutcome) -> None:
        """Record how a call ended that timed out or was cancelled; called once, possibly before `finished`."""


@runtime_checkable
class WaitingJournal(Protocol):
    """A `Journal` of runs that go on when the results of calls that returned `Pending` have come."""

    async def waited_for(self, calls: Sequence[ToolCall]) -> Mapping[str, ToolOutcome]:
        """Return, by id, the outcomes of the calls that returned `Pending`: their result, or that they still wait."""


def describe_media(media: Sequence[Media]) -> list[dict[str, Any]]:
    """Return files as clients get them, without a URL."""
    return [{"name": one.name, "mediaType": one.media_type, "size": len(one.data)} for one in media]


class NullJournal:
    """A `Journal` that records nothing."""

    async def starting(self, batch: Sequence[PlannedCall]) -> Mapping[str, ToolOutcome]:
        return {}

    async def keep(self, call: ToolCall, media: Sequence[Media]) -> Sequence[Mapping[str, Any]]:
        return describe_media(media)

    async def finished(self, outcomes: Sequence[ToolOutcome]) -> None:
        return None


class FixedToolset:
    """A toolset that never changes, with all tools switched on.

    Args:
        configs: the settings of tools, by tool name, as values or mappings; the default is each tool's defaults.
        secrets: the secrets that tools declare, by tool name and then by secret name.

    Raises:
        InvalidTool: settings or secrets do not fit the tool's declaration.
    """

    def __init__(
        self,
        tools: Iterable[Tool],
        *,
        configs: Mapping[str, Any] | None = None,
        secrets: Mapping[str, Mapping[str, str]] | None = None,
    ) -> None:
        self._tools = Registry(tools).by_name
        given = configs or {}
        self._configs = {
            name: given_config(tool, given.get(name)) if tool.config is not None else given.get(name)
            for name, tool in self._tools.items()
        }
        self._secrets: dict[str, Mapping[str, str]] = {}
        if secrets:
            self._secrets = {name: given_secrets(tool, secrets.get(name)) for name, tool in self._tools.items()}

    async def offered(self) -> Sequence[Tool]:
        return list(self._tools.values())

    async def admit(self, calls: Sequence[ToolCall], read: ReadText = NOTHING_READ) -> Sequence[Admission]:
        names = tuple(self._tools)
        unknown = Admission(
            None, "off", "Not among the tools that were given.", callable_names=names, tools=self._tools
        )
        return [
            Admission(
                self._tools[call.name],
                "on",
                "Given by the caller.",
                self._configs[call.name],
                self._secrets.get(call.name, {}),
                names,
                self._tools,
            )
            if call.name in self._tools
            else unknown
            for call in calls
        ]


EFFECT_UNKNOWN = "Whether this call took effect is not known. Check before you repeat it."
INTERRUPTED = (
    "This call was begun before and interrupted; whether it took effect is not known. It was not run again. "
    "Check before you repeat it."
)


def replayed(work: PlannedCall, earlier: ToolOutcome | None) -> ToolOutcome | None:
    """Return the outcome of a call that must not run again; None if it must run.

    A call that ended keeps its outcome. One that was interrupted runs again if its tool is idempotent or read-only;
    otherwise the model reads that its effect is unknown.

    Args:
        work: the call that is about to run.
        earlier: the outcome of the same call (the same run and call id) before the interruption; its status is
            "cancelled" if the call never ended. None if the call was never started.
    """
    if earlier is None or earlier.status == "awaiting_approval":
        return None
    if earlier.status != "cancelled":
        return earlier
    if work.tool.idempotent or work.tool.read_only:
        return None
    return ToolOutcome(work.call, "unknown", INTERRUPTED, error=INTERRUPTED, rule=work.admission.rule, agent=work.agent)
