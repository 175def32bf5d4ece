"""The list of conversations of the browser chat: its parts as HTML, and the actions on one conversation."""

from __future__ import annotations

import uuid

from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.views.decorators.http import require_POST, require_safe

from assistant.pages.base_template import render_packed
from assistant.pages.members import MemberRequest, for_members
from assistant.pages.sidebar import list_context
from assistant.services.conversations.conversations import archive_conversation, pin_conversation


@require_safe
@for_members
def conversations(page: MemberRequest) -> HttpResponse:
    """Return the list as an HTML fragment.

    `?q=` searches, `?archived=1` is the archive, `?after=` a later page, and `?current=` marks the open conversation.
    """
    asked = page.request.GET
    context = list_context(
        page.member,
        search=asked.get("q", ""),
        is_archived=asked.get("archived") == "1",
        cursor=asked.get("after", ""),
        current=asked.get("current", ""),
    )
    return render_packed(page.request, "assistant/chat/conversations.html", context)


def _flag(request: HttpRequest) -> bool:
    return request.POST.get("on") == "1"


@require_POST
@for_members
def pin(page: MemberRequest, thread: uuid.UUID) -> HttpResponse:
    """Pin a conversation if the form field `on` is 1, else unpin it."""
    if not pin_conversation(member=page.member, conversation_id=thread, is_pinned=_flag(page.request)):
        raise Http404
    return JsonResponse({"on": _flag(page.request)})


@require_POST
@for_members
def archive(page: MemberRequest, thread: uuid.UUID) -> HttpResponse:
    """Archive a conversation if the form field `on` is 1, else restore it."""
    if not archive_conversation(member=page.member, conversation_id=thread, is_archived=_flag(page.request)):
        raise Http404
    return JsonResponse({"on": _flag(page.request)})
