"""Calls of tools as a member: straight, and through the model's door with its policy, limits and journal."""

from __future__ import annotations

import asyncio
import json
import time
from dataclasses import dataclass
from typing import Any, Literal

from assistant.contrib.data.services.prove.throwaway import NoNetwork
from assistant.contrib.mcp_server.direct_call import Decision, ToolCall, call_tool
from assistant.models import Membership
from assistant.services.tenancy.members import Member, member_of
from assistant.services.tenancy.row_scope import all_tenants, tenant_scope
from assistant.toolkit import ForeignRow, MissingSecret, Tool, ToolContext, ToolError

How = Literal["ok", "told", "foreign", "raised", "skipped"]
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
    """How a call ended, and what the model would read."""

    how: How
    text: str
    seconds: float


def actor_of(owner: str, part: str, tenant: Any, user: Any) -> Actor:
    """Return a member as a caller."""
    with all_tenants():
        found = Membership.objects.select_related("tenant", "user").get(tenant=tenant, user=user)
        return Actor(owner, part, member_of(found))


def call(tool: Tool, arguments: dict[str, Any], actor: Actor, door: Door, runner: asyncio.Runner) -> Called:
    """Call a tool once."""
    begin = time.monotonic()
    how, text = runner.run(_called(tool, arguments, actor, door))
    return Called(how, text, time.monotonic() - begin)


async def _called(tool: Tool, arguments: dict[str, Any], actor: Actor, door: Door) -> tuple[How, str]:
    try:
        with tenant_scope(actor.member.tenant_id):
            async with asyncio.timeout(SECONDS):
                if door == "model":
                    return await _through_door(tool, arguments, actor)
                result = await tool.call(json.dumps(arguments, default=str), actor.context)
    except MissingSecret as exc:
        return "skipped", f"it needs a secret: {exc}"
    except ToolError as exc:
        return "told", str(exc)
    except ForeignRow as exc:
        return "foreign", str(exc)
    except TimeoutError:
        return "raised", f"it took longer than {SECONDS} seconds"
    except Exception as exc:
        if _has_cause(exc, NoNetwork):
            return "skipped", f"it reaches another place: {exc}"
        return "raised", f"{type(exc).__name__}: {exc}"
    return "ok", result.content


async def _through_door(tool: Tool, arguments: dict[str, Any], actor: Actor) -> tuple[How, str]:
    asked = ToolCall("prove", tool.name, json.dumps(arguments, default=str))
    done = await call_tool(member=actor.member, call=asked, decision=Decision(approved=True))
    outcome = done.outcome
    return ("ok" if outcome.status == "ok" else "told"), outcome.content


def _has_cause(exc: BaseException, kind: type[BaseException]) -> bool:
    at: BaseException | None = exc
    for _ in range(10):
        if at is None:
            return False
        if isinstance(at, kind):
            return True
        at = at.__cause__ or at.__context__
    return False
