"""What an input does to calls whose results come later: the run goes on with those that have come, or without."""

from __future__ import annotations

from collections.abc import Collection

from assistant.contrib.later_results.models import PendingCall
from assistant.contrib.later_results.services.pending_calls import ENDED, State, cancel_waits, waits_of
from assistant.models import Conversation, ToolCall
from assistant.services.errors import Refused
from assistant.services.runs.run_input import RunInput
from assistant.services.toolcalls.later_results import NO_WAITS, Waits


def read_waits(given: RunInput, pending: Collection[str], conversation: Conversation) -> Waits:
    """Return the waits among the calls without a result, after ending those that the input gives up.

    A message gives up all, as it leaves approvals without an answer; an entry of `resume` gives up one, if it is
    cancelled or rejected. Any other entry changes nothing.

    Args:
        pending: the ids of the calls without a result.

    Raises:
        Refused: `invalid_input`, if a client sends something else without giving up what is waited for.
    """
    found = waits_of(tenant_id=conversation.tenant_id, conversation=conversation, call_ids=pending)
    if not found:
        return NO_WAITS
    waiting = {call_id for call_id, row in found.items() if row.state == State.WAITING}
    left = sorted(waiting - {answer.interrupt_id for answer in given.resume})
    if given.message is not None and given.must_answer and left:
        sentence = f"This conversation waits for results: resume needs an entry for each of {', '.join(left)}."
        raise Refused("invalid_input", sentence)
    given_up = {answer.interrupt_id for answer in given.resume if not answer.approved} & waiting
    given_up = waiting if given.message is not None else given_up
    if given_up:
        rows = [found[call_id].pk for call_id in given_up]
        cancel_waits(PendingCall.objects.filter(pk__in=rows), tenant_id=conversation.tenant_id)
    ended = {call_id for call_id, row in found.items() if row.state in ENDED} | given_up
    others = set(pending) - ended
    is_answer = given.message is None and bool(ended) and (bool(given_up) or _are_over(others, conversation))
    return Waits(tuple(row.pk for row in found.values()), frozenset(found), is_answer)


def _are_over(call_ids: Collection[str], conversation: Conversation) -> bool:
    """Return whether these calls are approvals that have expired, which nobody can give any more."""
    if not call_ids:
        return True
    expired = ToolCall.objects.filter(
        tenant_id=conversation.tenant_id,
        run__conversation=conversation,
        call_id__in=list(call_ids),
        status=ToolCall.Status.EXPIRED,
    )
    return expired.count() == len(call_ids)
