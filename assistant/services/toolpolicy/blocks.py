"""Off switches of tools with a reason and an end: the deployment's, above all others, a tenant's and an assistant's."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from django.db import transaction
from django.db.models import Case, CharField, F, Q, QuerySet, Value, When

from assistant.core.values.switched_off import SwitchedOff
from assistant.models import ToolBlock
from assistant.models.toolblocks import MAX_REASON
from assistant.services.db.clock import DatabaseTime, database_time
from assistant.services.tenancy import audit_trail, change_notices
from assistant.services.toolpolicy import catalogue, outside_tools
from assistant.services.toolpolicy.rules import BLOCKED, Whose

# An end that is further away is a mistake in the date.
MAX_DURATION = timedelta(days=366)


@dataclass(frozen=True, slots=True)
class Block:
    """Why a tool is off for whom, and until when; None until it is switched on again."""

    reason: str
    until: datetime | None = None
    whose: Whose = "deployment"

    @classmethod
    def of_json(cls, reason: str, until: str | None, whose: Whose = "deployment") -> Block:
        """Return a block that a query has put into JSON. SQLite's times are in UTC and do not say so."""
        at = None if until is None else datetime.fromisoformat(until)
        return cls(reason, at if at is None or at.tzinfo is not None else at.replace(tzinfo=UTC), whose)

    @property
    def switched_off(self) -> SwitchedOff:
        """What members and the model are told about it."""
        return SwitchedOff(self.reason, self.until)

    @property
    def rule(self) -> str:
        """The sentence that calls, listings and pages give for it."""
        reason = self.reason.rstrip(".")
        (with_end, without) = BLOCKED[self.whose]
        if self.until is None:
            return without % {"reason": reason}
        return with_end % {"until": f"{self.until.astimezone(UTC):%Y-%m-%d %H:%M}", "reason": reason}


def active_blocks() -> QuerySet[ToolBlock]:
    """Return the rows that have not ended, by the database's clock."""
    return ToolBlock.objects.filter(Q(until=None) | Q(until__gt=DatabaseTime())).order_by()


def read_blocks() -> dict[str, Block]:
    """Return the tools that are off in the whole deployment, by name."""
    return {
        tool: Block(reason, until) for tool, reason, until in active_blocks().values_list("tool", "reason", "until")
    }


def active_reason() -> Case:
    """Return the reason of a `ToolSetting` that has not ended, by the database's clock; else ""."""
    lasts = Q(until=None) | Q(until__gt=DatabaseTime())
    return Case(When(lasts, then=F("reason")), default=Value(""), output_field=CharField())


def checked_reason(reason: str) -> str:
    """Return a reason on one line, without control characters and those that turn the direction of a text.

    Members and the model read it. Raises `ValueError` if it is empty or longer than `MAX_REASON`.
    """
    reason = " ".join("".join(one if one.isprintable() else " " for one in reason).split())
    if not 0 < len(reason) <= MAX_REASON:
        raise ValueError(f"a reason has 1 to {MAX_REASON} characters")
    return reason


def check_end(until: datetime | None) -> None:
    """Raise `ValueError` unless an end is in the future, and not further away than `MAX_DURATION`."""
    now = database_time()
    if until is not None and not now < until <= now + MAX_DURATION:
        raise ValueError(f"the end must be in the future, and at most {MAX_DURATION.days} days away")


@transaction.atomic
def block_tool(
    *, actor: audit_trail.Actor, tool: str, reason: str, lasts: timedelta | None = None, until: datetime | None = None
) -> Block:
    """Switch a tool off for every tenant, from the next call on, in every process and in running runs.

    The caller has checked that `actor` is an operator; None for a command. A tool that is off already gets the new
    reason and end.

    Args:
        lasts: how long; or
        until: when it ends. Neither: until `unblock_tool`.

    Raises:
        ValueError: there is no such tool, no reason, or the end is past or too far away.
    """
    if not knows_tool_anywhere(tool):
        raise ValueError(f"this deployment has no tool {tool!r}")
    reason = checked_reason(reason)
    if lasts is not None:
        until = database_time() + lasts
    check_end(until)
    before = _remove(tool)
    values = {"reason": reason, "until": until, "actor_id": actor.pk if actor is not None else None}
    # Not `create`: a concurrent request may have created the row.
    ToolBlock.objects.update_or_create(tool=tool, defaults=values)
    made = Block(reason, until)
    _record(actor, "tool.block", tool, before, made)
    return made


@transaction.atomic
def unblock_tool(*, actor: audit_trail.Actor, tool: str) -> bool:
    """Let the switches of tenants and assistants decide on a tool again; return whether it was off."""
    before = _remove(tool)
    if before is not None:
        _record(actor, "tool.unblock", tool, before, None)
    return before is not None


def knows_tool_anywhere(name: str) -> bool:
    """Return whether the catalogue, or an external server of any tenant, has a tool of this name."""
    return name in catalogue.registry() or outside_tools.knows(name)


def _remove(tool: str) -> Block | None:
    """Delete the tool's row, and rows that have ended; return the tool's block if it has not."""
    row = active_blocks().select_for_update().filter(tool=tool).first()
    ToolBlock.objects.filter(Q(tool=tool) | Q(until__lte=DatabaseTime())).delete()
    return None if row is None else Block(row.reason, row.until)


def _record(actor: audit_trail.Actor, action: str, tool: str, before: Block | None, after: Block | None) -> None:
    pairs: dict[str, list[str | None]] = {
        "in the whole deployment": [_word(before), _word(after)],
        "reason": [before.reason if before else None, after.reason if after else None],
        "until": [_end(before), _end(after)],
    }
    values = {name: pair for name, pair in pairs.items() if pair[0] != pair[1]}
    audit_trail.record(actor=actor, action=action, target=tool, details={"values": values})
    change_notices.notify()


def _word(block: Block | None) -> str:
    return "as switched" if block is None else "off"


def _end(block: Block | None) -> str | None:
    return None if block is None or block.until is None else f"{block.until.astimezone(UTC):%Y-%m-%d %H:%M} UTC"
