"""Decides whether a call that was started before may run again after an interruption."""

from __future__ import annotations

from assistant.core.toolcalls.protocols import PlannedCall, ToolOutcome

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
    return ToolOutcome(work.call, "unknown", INTERRUPTED, error=INTERRUPTED, rule=work.rule, agent=work.agent)
