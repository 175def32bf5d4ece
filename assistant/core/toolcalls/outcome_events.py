"""The events of a call's outcome: how it ended, or what it waits for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from assistant.core.conversation.turn_endings import ask_person
from assistant.core.toolcalls.protocols import ToolOutcome
from assistant.core.values.events import Custom, Interrupt
from assistant.toolkit.schema.form import label_of
from assistant.toolkit.translation import gettext

# The reason of an interrupt that waits for a result from outside, and not for the person.
PENDING = "tool_pending"


def interrupt_of(outcome: ToolOutcome, title: str, seconds: float) -> Interrupt:
    """Return the interrupt for which a run ends because of a call that waits.

    Args:
        title: the tool's name for people; empty if it has none.
        seconds: until an approval expires; 0 for never.
    """
    call, pending = outcome.call, outcome.pending
    if pending is None:
        return ask_person(call, outcome.asked, seconds, outcome.warning)
    title = title or label_of(call.name)
    about: dict[str, Any] = {"title": title, **({"note": pending.note} if pending.note else {})}
    sentence = (
        gettext("“%(tool)s” waits for %(note)s.") % {"tool": title, "note": pending.note}
        if pending.note
        else gettext("“%(tool)s” waits for its result.") % {"tool": title}
    )
    return Interrupt(
        id=call.id,
        reason=PENDING,
        message=sentence,
        tool_call_id=call.id,
        metadata=about,
        expires_at=pending.ends_at.isoformat(timespec="seconds"),
    )


def finished_event(outcome: ToolOutcome, title: Mapping[str, str]) -> Custom:
    """Return the `tool.finished` event of a call; `title` is its tool's name for people, if it has one."""
    value = {
        "toolCallId": outcome.call.id,
        "name": outcome.call.name,
        **title,
        "status": outcome.status,
        "durationMs": outcome.duration_ms,
    }
    if outcome.display is not None:
        value["display"] = outcome.display
    if outcome.files:
        value["media"] = [dict(one) for one in outcome.files]
    return Custom("tool.finished", value)
