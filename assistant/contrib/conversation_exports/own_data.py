"""What is stored about a member in a tenant, in numbers, and the deletion of all of their own conversations."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_http_methods

from assistant.contrib.conversation_exports.own_conversations import delete_own_conversations
from assistant.contrib.conversation_exports.own_rows import stored_about
from assistant.pages.members import MemberRequest, for_members
from assistant.pages.shell import render_in_shell


@require_http_methods(["GET", "HEAD", "POST"])
@for_members
def own_data(page: MemberRequest) -> HttpResponse:
    """Show how many rows of which kinds a tenant has of the member; by POST with `sure`, delete their conversations."""
    if page.request.method == "POST":
        if page.request.POST.get("sure"):
            _delete(page)
        else:
            messages.error(page.request, _("Tick that you are sure first."))
        return redirect("assistant:own-data", tenant=page.member.tenant.slug)
    return render_in_shell(page, "assistant/conversation_exports/own_data.html", {"kinds": stored_about(page.member)})


def _delete(page: MemberRequest) -> None:
    deleted, left = delete_own_conversations(member=page.member)
    text = ngettext("%(count)d conversation is deleted.", "%(count)d conversations are deleted.", deleted)
    messages.success(page.request, text % {"count": deleted})
    if left:
        text = ngettext(
            "%(count)d is left: it is being answered, or there were too many for once.",
            "%(count)d are left: they are being answered, or there were too many for once.",
            left,
        )
        messages.warning(page.request, text % {"count": left})
