"""The export of a conversation of the chat, and the import of one."""

from __future__ import annotations

import uuid

from django.http import Http404, HttpResponse, JsonResponse
from django.urls import reverse
from django.utils.text import slugify
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST, require_safe

from assistant.contrib.conversation_exports.archive import archived
from assistant.contrib.conversation_exports.export import as_json, as_markdown
from assistant.contrib.conversation_exports.imports import MAX_IMPORT_BYTES, ImportRefused, import_conversation
from assistant.pages.members import MemberRequest, for_members
from assistant.services.conversations.conversations import find_conversation


@require_safe
@for_members
def export(page: MemberRequest, thread: uuid.UUID) -> HttpResponse:
    """Download a conversation as Markdown, or with `?format=json` as JSON."""
    conversation = find_conversation(member=page.member, conversation_id=thread)
    if conversation is None:
        raise Http404
    if page.request.GET.get("format") == "json":
        answer: HttpResponse = JsonResponse(as_json(member=page.member, conversation=conversation))
        kind = "json"
    else:
        text = as_markdown(member=page.member, conversation=conversation)
        answer = HttpResponse(text, content_type="text/markdown; charset=utf-8")
        kind = "md"
    name = slugify(conversation.title)[:60].strip("-") or str(thread)
    answer["Content-Disposition"] = f'attachment; filename="{name}.{kind}"'
    return answer


@require_POST
@for_members
def export_all(page: MemberRequest) -> HttpResponse:
    """Download the member's conversations as a ZIP archive of JSON files; 400 if there are none."""
    archive, count = archived(member=page.member)
    if not count:
        return HttpResponse(_("You have no conversations here."), status=400)
    answer = HttpResponse(archive, content_type="application/zip")
    answer["Content-Disposition"] = f'attachment; filename="{page.member.tenant.slug}-conversations.zip"'
    return answer


@require_POST
@for_members
def import_export(page: MemberRequest) -> HttpResponse:
    """Make a conversation of the uploaded `file`, an export as JSON; 400 with the reason if that is not possible."""
    file = page.request.FILES.get("file")
    content = b"" if file is None else file.read(MAX_IMPORT_BYTES + 1)
    try:
        made = import_conversation(member=page.member, content=content)
    except ImportRefused as refused:
        return JsonResponse({"error": str(refused)}, status=400)
    address = {"tenant": page.member.tenant.slug, "thread": made.client_id}
    return JsonResponse({"next": reverse("assistant:thread", kwargs=address)})
