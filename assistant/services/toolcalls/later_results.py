"""What runs ask about tool calls whose results come later, from outside. An optional app keeps them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

from django.utils.module_loading import import_string

if TYPE_CHECKING:
    from assistant.core.toolcalls.protocols import PlannedCall, ToolOutcome
    from assistant.core.values.messages import ToolCall as Call
    from assistant.models import Conversation, Run, ToolCall
    from assistant.services.run_key import RunKey
    from assistant.services.runs.extensions.run_extension import RunExtension
    from assistant.services.runs.run_input import RunInput
    from assistant.toolkit.context import UserId

STOPPED = "Nobody waits for the result of this call any more: the user has gone on without it."


@dataclass(frozen=True, slots=True)
class Waits:
    """The calls of a conversation's last answer that wait for a result, or whose result has come and was not used yet.

    Attributes:
        rows: primary keys of their rows.
        call_ids: their ids.
        is_answer: whether the run goes on with these results alone, and not with a message of the input.
    """

    rows: tuple[int, ...] = ()
    call_ids: frozenset[str] = frozenset()
    is_answer: bool = False


NO_WAITS = Waits()


class LaterResults:
    """Keeps no results that come later: tools that wait for one are not offered."""

    def extensions(self, *, key: RunKey, tenant: str) -> Iterable[RunExtension[Any]]:
        """Return what lets a run of a tenant, by its slug, end with calls whose results come later."""
        return ()

    def begin(self, *, key: RunKey, batch: Iterable[PlannedCall], rows: Mapping[str, int]) -> None:
        """Store that those of these calls may wait whose tools do, before they run. `rows`: primary keys by call id."""

    def record(self, *, key: RunKey, rows: Mapping[str, int], outcomes: Sequence[ToolOutcome]) -> None:
        """Store what calls wait for. `rows`: primary keys by call id, of calls of tools that wait."""

    def known_outcomes(self, *, key: RunKey, calls: Sequence[Call]) -> Mapping[str, ToolOutcome]:
        """Return, by id, what is known of those of a run's calls that returned `Pending`."""
        return {}

    def outcome_of(self, row: ToolCall, work: PlannedCall) -> ToolOutcome | None:
        """Return what is known of a call that was begun before and is about to run again; None if nothing is."""
        return None

    def waits_of(self, run_input: RunInput, open_calls: Collection[str], conversation: Conversation) -> Waits:
        """Return the waits among calls without a result, after ending those that the input gives up.

        Raises:
            Refused: `invalid_input`, if a client sends something else without giving up what is waited for.
        """
        return NO_WAITS

    def give_to(self, run: Run, taken: Waits) -> None:
        """Store that a new run has used the results that have come, and waits for the others."""

    def give_up(self, conversation: Conversation) -> None:
        """Stop waiting for all results of a conversation, which has gone on without them."""

    def stop(self, *, tenant_id: int, user_id: UserId, run_id: str, assistant_id: int | None) -> list[str]:
        """Stop waiting for those of a member's runs with an id. Returns the threads of runs that are cancelled now."""
        return []


_keeper = ""


def keep_with(keeper: str) -> None:
    """Have results kept by an optional app.

    Args:
        keeper: the dotted name of a subclass of `LaterResults`, which is imported when it is first asked.
    """
    global _keeper  # noqa: PLW0603 - of the whole process
    _keeper = keeper


@cache
def later_results() -> LaterResults:
    """Return what keeps the results."""
    found: LaterResults = import_string(_keeper)() if _keeper else LaterResults()
    return found
