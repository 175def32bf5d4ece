"""Calls of tools as a member: straight, and through the model's door with its policy, limits and journal."""

from __future__ import annotations

import asyncio
import json
import re
import time
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal

from assistant.contrib.data.services.prove.throwaway import NoNetwork
from assistant.contrib.mcp_server.direct_call import Decision, ToolCall, call_tool
from assistant.core.toolcalls.previews import changes_of
from assistant.models import Membership
from assistant.services.tenancy.members import Member, member_of
from assistant.services.tenancy.row_scope import all_tenants, tenant_scope
from assistant.toolkit import ForeignRow, InvalidArguments, MissingSecret, Tool, ToolContext, ToolError, ToolResult
from assistant.toolkit.calls.gate import NoAnswer
from assistant.toolkit.definition.conditions import offered_tools

# "refused": the arguments do not fit the tool's schema, so its code was not asked.
How = Literal["ok", "told", "refused", "foreign", "raised", "skipped"]
Door = Literal["straight", "model"]
SECONDS = 30


@dataclass(frozen=True, slots=True)
class Actor:
    """Who calls: a member of a tenant, with the part that the report names."""

    owner: str
    part: str
    member: Member

    @property
    def context(self) -> ToolContext:
        return ToolContext(tenant=self.member.tenant, user=self.member.user)


@dataclass(frozen=True, slots=True)
class Called:
    """How a call ended.

    Attributes:
        text: what the model would read.
        shown: what people would see besides: pages, files, whoever approves the call; and the tool's description.
    """

    how: How
    text: str
    shown: str
    seconds: float

    @property
    def answer(self) -> tuple[str, str]:
        """How it ended and all that was told, for comparisons."""
        return self.how, f"{self.text}\n{self.shown}".strip()

    def without(self, value: str, keys: Iterable[str]) -> set[tuple[str, str]]:
        """Return the answer without the value that a call named and without the keys of rows that it made.

        In three ways, since a short number may also stand within a key or another value, which both stay.
        """
        how, text = self.answer
        for key in keys:
            text = _without_word(text, key)
        return {(how, text), (how, _without_word(text, value)), (how, text.replace(value, "…"))}


def _without_word(text: str, word: str) -> str:
    return re.sub(rf"(?<!\w){re.escape(word)}(?!\w)", "…", text)


def actor_of(owner: str, part: str, tenant: Any, user: Any) -> Actor:
    """Return a member as a caller."""
    with all_tenants():
        found = Membership.objects.select_related("tenant", "user").get(tenant=tenant, user=user)
        return Actor(owner, part, member_of(found))


def call(tool: Tool, arguments: dict[str, Any], actor: Actor, door: Door, runner: asyncio.Runner) -> Called:
    """Call a tool once."""
    begin = time.monotonic()
    how, text, shown = runner.run(_called(tool, json.dumps(arguments, default=str), actor, door))
    return Called(how, text, shown, time.monotonic() - begin)


async def _called(tool: Tool, arguments: str, actor: Actor, door: Door) -> tuple[How, str, str]:
    asked = ""
    try:
        with tenant_scope(actor.member.tenant_id):
            async with asyncio.timeout(SECONDS):
                if door == "model":
                    return await _through_door(tool, arguments, actor)
                asked = await _said_before(tool, arguments, actor.context)
                result = await tool.call(arguments, actor.context)
    except MissingSecret as exc:
        return "skipped", f"it needs a secret: {exc}", ""
    except InvalidArguments as exc:
        return "refused", str(exc), asked
    except ToolError as exc:
        return "told", str(exc), asked
    except ForeignRow as exc:
        return "foreign", str(exc), asked
    except TimeoutError:
        return "raised", f"it took longer than {SECONDS} seconds", asked
    except Exception as exc:
        if _has_cause(exc, NoNetwork):
            return "skipped", f"it reaches another place: {exc}", ""
        return "raised", f"{type(exc).__name__}: {exc}", asked
    return "ok", result.content, _joined([asked, _shown(result)])


async def _through_door(tool: Tool, arguments: str, actor: Actor) -> tuple[How, str, str]:
    asked = ToolCall("prove", tool.name, arguments)
    done = await call_tool(member=actor.member, call=asked, decision=Decision(approved=True))
    outcome = done.outcome
    shown = "" if done.result is None else _shown(done.result)
    return ("ok" if outcome.status == "ok" else "told"), outcome.content, shown


async def _said_before(tool: Tool, arguments: str, context: ToolContext) -> str:
    """Return what a tool says before a call: its description for the member, and what it would change."""
    descriptions = []
    if tool.describe is not None:
        descriptions = [str(offered.description) for offered in await offered_tools([tool], context)]
    try:
        changes = await changes_of(tool, arguments, context)
    except ToolError as exc:
        return _joined([*descriptions, str(exc)])
    except NoAnswer:
        changes = []
    return _joined([*descriptions, json.dumps(changes, ensure_ascii=False) if changes else ""])


def _shown(result: ToolResult) -> str:
    """Return what people see of a result that the model does not read."""
    display = "" if result.display is None else json.dumps(result.display, ensure_ascii=False, default=str)
    files = [f"{one.name} {one.description} {one.data.decode('latin-1')}" for one in result.media]
    return _joined([display, result.full, *files])


def _joined(texts: list[str]) -> str:
    return "\n".join(text for text in texts if text)


def _has_cause(exc: BaseException, kind: type[BaseException]) -> bool:
    at: BaseException | None = exc
    for _ in range(10):
        if at is None:
            return False
        if isinstance(at, kind):
            return True
        at = at.__cause__ or at.__context__
    return False
