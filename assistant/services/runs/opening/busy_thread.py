"""Decides what happens to an input for a thread that is being answered."""

from __future__ import annotations

from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

from assistant.models import Run
from assistant.models.fields import OnDisconnect, WhenBusy
from assistant.models.runs import IS_ACTIVE
from assistant.services.errors import Refused
from assistant.services.limits.runs_at_once import key_of_run
from assistant.services.run_key import RunKey, key_of
from assistant.services.runs.opening.opening_query import OpeningState
from assistant.services.runs.run_input import RunInput
from assistant.services.tenancy.members import Member

BUSY = gettext_noop("This conversation is still being answered. Wait for it, or stop it.")


class ThreadBusy(Refused):
    """A run of the thread is running or queued.

    Attributes:
        when_busy: what the input asks for then. `replace` is asked for only of the same caller's run.
        run: the run that is running or queued; None if the input is refused.
        on_disconnect: what happens to the input's own run when its client disconnects.
    """

    def __init__(
        self,
        when_busy: WhenBusy = WhenBusy.REFUSE,
        run: RunKey | None = None,
        on_disconnect: OnDisconnect = OnDisconnect.CONTINUE,
    ) -> None:
        super().__init__("thread_busy", _(BUSY))
        self.when_busy = when_busy
        self.run = run
        self.on_disconnect = on_disconnect


class FreeAgain(Exception):
    """The run that kept the thread busy has ended in the meantime, so a waiting input can be opened now."""


def refusal_of_busy(*, member: Member, given: RunInput, state: OpeningState, default: WhenBusy) -> ThreadBusy:
    """Return the exception for an input of a busy thread.

    Args:
        default: what happens if neither the input nor the assistant's setting says it.

    Raises:
        FreeAgain: the input waits, and there is no run to wait for any more.
    """
    wanted = given.options.when_busy or WhenBusy(state.assistant.when_busy or default)
    if wanted is WhenBusy.REFUSE or state.conversation is None:
        return ThreadBusy()
    active = Run.objects.filter(IS_ACTIVE, tenant_id=member.tenant_id, conversation=state.conversation)
    run = active.select_related("conversation").first()
    if run is None:
        raise FreeAgain
    if wanted is WhenBusy.REPLACE and run.api_key_id != key_of_run(member):
        return ThreadBusy()
    return ThreadBusy(
        wanted, key_of(run, ""), given.options.on_disconnect or OnDisconnect(state.assistant.on_disconnect)
    )
