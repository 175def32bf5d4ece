"""The page of what waits for a member over all their conversations."""

from __future__ import annotations

from django.http import HttpResponse
from django.views.decorators.http import require_safe

from assistant.contrib.inbox.services.waiting import entries_of
from assistant.pages.members import MemberRequest, for_members
from assistant.pages.shell import render_in_shell


@require_safe
@for_members
def inbox(page: MemberRequest) -> HttpResponse:
    """List what needs the member, answers that they have not seen, and what runs."""
    entries = entries_of(page.member)
    groups = [(state, [entry for entry in entries if entry.state == state]) for state in ("needs", "new", "running")]
    return render_in_shell(page, "assistant/inbox/inbox.html", {"groups": [group for group in groups if group[1]]})
