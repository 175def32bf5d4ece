"""Shared conversations: the links of one's own, and the page of a link, which members of the tenant read."""

from __future__ import annotations

import json
import uuid
from typing import Any

from django.http import Http404, HttpResponse, JsonResponse
from django.urls import reverse
from django.utils.safestring import mark_safe
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from assistant.contrib.shares.links import (
    SharedMessage,
    SharingRefused,
    revoke_share,
    share_conversation,
    shared_conversation,
    shares_of,
)
from assistant.contrib.shares.models import ConversationShare
from assistant.markdown.cut_text import close_text
from assistant.markdown.render import render_blocks
from assistant.pages.members import MemberRequest, for_members
from assistant.pages.shell import render_in_shell
from assistant.services.assistants.ai_notice import DIGITAL_SOURCE_TYPE
from assistant.services.conversations.added_details import detail_scripts
from assistant.services.conversations.conversations import find_conversation


@require_safe
@for_members
def shared(page: MemberRequest, share: uuid.UUID) -> HttpResponse:
    """Show the conversation that a link leads to, to members of its tenant."""
    found = shared_conversation(member=page.member, share_id=share)
    if found is None:
        raise Http404
    context = {"shared": found, "turns": _turns(found.messages)}
    context |= {"digital_source_type": DIGITAL_SOURCE_TYPE, "details": detail_scripts()}
    return render_in_shell(page, "assistant/shares/page.html", context)


def _turns(messages: Any) -> list[dict[str, Any]]:
    """Return the messages as turns for the template: the assistant's in a row are one."""
    turns: list[dict[str, Any]] = []
    for message in messages:
        if message.is_user or not turns or turns[-1]["is_user"]:
            turns.append({"is_user": message.is_user, "parts": []})
        added = json.dumps(message.added) if message.added else ""
        passages = json.dumps(list(message.passages)) if message.passages else ""
        turns[-1]["parts"].append({"message": message, "html": _html(message), "added": added, "passages": passages})
    return turns


def _html(message: SharedMessage) -> str:
    """Return an assistant's message as the sanitised HTML that the chat shows too."""
    if message.is_user:
        return ""
    text = close_text(message.text) if message.is_partial else message.text
    return mark_safe("".join(render_blocks(text)))  # noqa: S308 - `render_block` sanitises  # nosec B308 B703


@require_http_methods(["GET", "HEAD", "POST"])
@for_members
def shares(page: MemberRequest, thread: uuid.UUID) -> HttpResponse:
    """List the links to a conversation of the member's own, or make one by POST."""
    if page.request.method == "POST":
        try:
            made = share_conversation(member=page.member, conversation_id=thread)
        except SharingRefused as exc:
            return JsonResponse({"error": str(exc)}, status=409)
        if made is None:
            raise Http404
    elif find_conversation(member=page.member, conversation_id=thread) is None:
        raise Http404
    links = shares_of(member=page.member, conversation_id=thread)
    return JsonResponse({"shares": [_entry(page, one) for one in links]})


def _entry(page: MemberRequest, share: ConversationShare) -> dict[str, str]:
    address = reverse("assistant:shared", kwargs={"tenant": page.member.tenant.slug, "share": share.pk})
    url = page.request.build_absolute_uri(address)
    return {"id": str(share.pk), "url": url, "created_at": share.created_at.isoformat()}


@require_POST
@for_members
def revoke(page: MemberRequest, thread: uuid.UUID, share: uuid.UUID) -> HttpResponse:
    """Revoke a link."""
    if not revoke_share(member=page.member, conversation_id=thread, share_id=share):
        raise Http404
    return JsonResponse({})
