"""What the loop asks of whoever hands out tools and keeps the books, and the values that pass between them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal, Protocol

from pydantic import ValidationError

from assistant.core.conversation.sub_agent_transcripts import Asked
from assistant.core.values.messages import ToolCall
from assistant.toolkit import InvalidTool, Media, Registry, Tool, ToolContext
from assistant.toolkit.validation_errors import sentence

Policy = Literal["on", "ask", "off"]
Status = Literal["ok", "error", "refused", "timeout", "cancelled", "awaiting_approval", "declined"]


@dataclass(frozen=True, slots=True)
class Admission:
    """What may be done with one call now; `rule` is a sentence that says which rule decided.

    `tool` is None if there is none of that name; `callable_names` are those that may be called instead, as far as
    their `tools` say themselves that they are available. `outage` is a sentence for whoever could use the tool, if it
    did not stand still.
    """

    tool: Tool | None
    policy: Policy = "on"
    rule: str = ""
    config: Any = None
    secrets: Mapping[str, str] = field(default_factory=dict, repr=False)
    callable_names: tuple[str, ...] = ()
    tools: Mapping[str, Tool] = field(default_factory=dict, repr=False)
    outage: str = ""


@dataclass(frozen=True, slots=True)
class Decision:
    """What a person said about a call that waited for approval.

    `edited_arguments` run in place of the model's; `response` is the result in the tool's place, which is then not run.
    """

    approved: bool
    edited_arguments: Mapping[str, Any] | None = None
    reason: str = ""
    response: str | None = None


@dataclass(frozen=True, slots=True)
class PlannedCall:
    """A call that is about to be run, with `arguments` (a person may have edited the model's).

    `agent` is the assistant that made it within the run; empty for the run's own.
    """

    call: ToolCall
    tool: Tool
    admission: Admission
    arguments: str | Mapping[str, Any]
    decision: Decision | None = None
    agent: str = ""

    @property
    def is_edited(self) -> bool:
        return not isinstance(self.arguments, str)

    @property
    def arguments_text(self) -> str:
        """The arguments as JSON text."""
        return self.arguments if isinstance(self.arguments, str) else json.dumps(self.arguments, ensure_ascii=False)

    @property
    def rule(self) -> str:
        return self.admission.rule


@dataclass(frozen=True, slots=True)
class ToolOutcome:
    """What came of one call.

    `content` is what the model reads, `display` what a page shows, `full` the whole of a content that was cut;
    `error` is for the audit. `ends_run`: the tool chose that its failure ends the run. `media` are the files it gave,
    `files` how clients get them (`name`, `mediaType`, `size`, `url`). `asked` are the assistants that it asked.
    `quota` is why it was not run, if no more calls may be made for now, which ends the run.
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
    asked: tuple[Asked, ...] = field(default=(), repr=False)
    quota: str = ""


class Toolset(Protocol):
    """Hands out tools."""

    async def offered(self) -> Sequence[Tool]:
        """The tools to offer; asked before every question to the model."""

    async def admit(self, calls: Sequence[ToolCall]) -> Sequence[Admission]:
        """What may be done with each call, in their order; asked again for every batch."""


class Journal(Protocol):
    """Keeps the books on tool calls."""

    async def starting(self, batch: Sequence[PlannedCall]) -> Mapping[str, ToolOutcome]:
        """Note calls before they run.

        Returns, by call id, the outcomes of those that are not to be run: they ran before, or there were too many.
        """

    async def keep(self, call: ToolCall, media: Sequence[Media]) -> Sequence[Mapping[str, Any]]:
        """Keep the files of a call that has just ended; returns how clients get them."""

    async def finished(self, outcomes: Sequence[ToolOutcome]) -> None:
        """Note what came of a batch, the calls that were not run included."""


def describe_media(media: Sequence[Media]) -> list[dict[str, Any]]:
    """What clients are told of files, without where they are."""
    return [{"name": one.name, "mediaType": one.media_type, "size": len(one.data)} for one in media]


class NullJournal:
    """Keeps no books."""

    async def starting(self, batch: Sequence[PlannedCall]) -> Mapping[str, ToolOutcome]:
        return {}

    async def keep(self, call: ToolCall, media: Sequence[Media]) -> Sequence[Mapping[str, Any]]:
        return describe_media(media)

    async def finished(self, outcomes: Sequence[ToolOutcome]) -> None:
        return None


class FixedToolset:
    """The same tools throughout, all switched on.

    Args:
        configs: the settings of tools, by tool name, as values or mappings; default each tool's own defaults.
        secrets: the secrets that tools declare, by tool name and then by secret name.

    Raises:
        InvalidTool: a tool's settings are not as it declares them.
    """

    def __init__(
        self,
        tools: Iterable[Tool],
        *,
        configs: Mapping[str, Any] | None = None,
        secrets: Mapping[str, Mapping[str, str]] | None = None,
    ) -> None:
        self._tools = {tool.name: tool for tool in Registry(tools)}
        self._configs = {name: _config(tool, (configs or {}).get(name)) for name, tool in self._tools.items()}
        self._secrets = secrets or {}

    async def offered(self) -> Sequence[Tool]:
        return list(self._tools.values())

    async def admit(self, calls: Sequence[ToolCall]) -> Sequence[Admission]:
        return [self._admission(self._tools.get(call.name)) for call in calls]

    def _admission(self, tool: Tool | None) -> Admission:
        names = tuple(self._tools)
        if tool is None:
            return Admission(
                None, "off", "Not among the tools that were given.", callable_names=names, tools=self._tools
            )
        given = self._secrets.get(tool.name, {})
        secrets = {name: given[name] for name in tool.secrets if name in given}
        return Admission(tool, "on", "Given by the caller.", self._configs[tool.name], secrets, names, self._tools)


def _config(tool: Tool, given: Any) -> Any:
    if tool.config is None or isinstance(given, tool.config):
        return given
    try:
        return tool.config.model_validate({} if given is None else given)
    except ValidationError as exc:
        problems = sentence(exc, root="settings")
        raise InvalidTool(f"The settings of tool {tool.name!r} are not valid: {problems}") from exc


def is_available(tool: Tool, context: ToolContext) -> bool:
    """Whether the tool itself wants to be used in these circumstances."""
    return tool.for_context(context) is not None
