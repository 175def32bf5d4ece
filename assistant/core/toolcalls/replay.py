"""Whether a call that was begun before runs again: it does only where that changes nothing more."""

from __future__ import annotations

from assistant.core.toolcalls.protocols import PlannedCall, ToolOutcome

EFFECT_UNKNOWN = (
    "This call was begun before and interrupted; whether it took effect is not known. It was not run again. "
    "Check before you repeat it."
)


def replayed(work: PlannedCall, earlier: ToolOutcome | None) -> ToolOutcome | None:
    """What is told of a call in place of running it; None if it is to be run.

    A call that had ended keeps its outcome. One that was cut off runs again if its tool is idempotent or changes
    nothing; else the model is told that nobody knows whether it took effect.

    Args:
        earlier: what came of the same call (by run and call id) before; "cancelled" if it never ended.
    """
    if earlier is None or earlier.status == "awaiting_approval":
        return None
    if earlier.status != "cancelled":
        return earlier
    if work.tool.idempotent or work.tool.read_only:
        return None
    return ToolOutcome(work.call, "error", EFFECT_UNKNOWN, error=EFFECT_UNKNOWN, rule=work.rule, agent=work.agent)
