"""The pages of the browser chat: the choice of a tenant, and the chat itself."""

from __future__ import annotations

import json
import uuid
from collections.abc import Mapping
from typing import Any

from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST, require_safe

from assistant.models import Assistant, Conversation
from assistant.pages import conversation_menu
from assistant.pages.added_parts import parts_of
from assistant.pages.base_template import render_page
from assistant.pages.members import TENANT_IN_SESSION, MemberRequest, for_members, user_id
from assistant.pages.sidebar import sidebar_context
from assistant.pages.signed_in import signed_in
from assistant.services import composer_parts
from assistant.services.assistants.ai_notice import DIGITAL_SOURCE_TYPE, ai_notice
from assistant.services.assistants.provider_choice import choose_provider, describe_provider
from assistant.services.assistants.welcome import welcome_of
from assistant.services.conversations.added_details import detail_scripts
from assistant.services.conversations.conversations import (
    ConversationBusy,
    delete_conversation,
    find_conversation,
    is_new,
    rename_conversation,
)
from assistant.services.files.limits import attachment_limits
from assistant.services.runs.prompt_tests import prompt_tests
from assistant.services.tenancy.audience import Fact, audience_of, is_told
from assistant.services.tenancy.members import Member, memberships_of, suspended_tenants_of


@require_safe
@never_cache
@signed_in
def home(request: HttpRequest) -> HttpResponse:
    """Redirect to the user's last or only tenant, or show a choice of their tenants."""
    memberships = memberships_of(user_id=user_id(request))
    slugs = [membership.tenant.slug for membership in memberships]
    last = request.session.get(TENANT_IN_SESSION)
    if last in slugs or len(slugs) == 1:
        return redirect("assistant:chat", tenant=last if last in slugs else slugs[0])
    suspended = [] if memberships else suspended_tenants_of(user_id=user_id(request))
    return render_page(request, "assistant/chat/tenants.html", {"memberships": memberships, "suspended": suspended})


@require_safe
@for_members
def chat(page: MemberRequest) -> HttpResponse:
    """Show a new conversation with the assistant that `?assistant=` names, or with the tenant's first.

    With `?test=` an optional app says what the conversation tests.
    """
    assistants = _assistants(page.member)
    wanted = page.request.GET.get("assistant")
    given = None
    if page.request.GET.get("test") and (begun := prompt_tests().begun(member=page.member, request=page.request)):
        wanted, given = begun
    chosen = next((one for one in assistants if one.slug == wanted), None)
    if wanted and chosen is None:
        raise Http404
    return _chat_page(page, assistants, chosen or (assistants[0] if assistants else None), None, given)


@require_safe
@for_members
def thread(page: MemberRequest, thread: uuid.UUID) -> HttpResponse:
    """Show a conversation. Its messages come over the websocket."""
    conversation = find_conversation(member=page.member, conversation_id=thread)
    if conversation is None or not conversation.assistant.is_active:
        raise Http404
    if conversation.is_temporary:
        # It is deleted when the page in which it began is left.
        return redirect("assistant:chat", tenant=page.member.tenant.slug)
    test = prompt_tests().shown(member=page.member, conversation=conversation) if conversation.test_tools else None
    return _chat_page(page, _assistants(page.member), conversation.assistant, conversation, {"test": test})


def _assistants(member: Member) -> list[Assistant]:
    rows = Assistant.objects.filter(tenant_id=member.tenant_id, is_active=True)
    return list(rows.select_related("provider", "tenant", "tenant__limits", "tenant__default_provider").order_by("pk"))


def _chat_page(
    page: MemberRequest,
    assistants: list[Assistant],
    assistant: Assistant | None,
    conversation: Conversation | None,
    given: Mapping[str, Any] | None = None,
) -> HttpResponse:
    """Render the page; `given` is added to its context: of a test `test`, `question` and `is_taken`."""
    member = page.member
    if page.request.session.get(TENANT_IN_SESSION) != member.tenant.slug:
        page.request.session[TENANT_IN_SESSION] = member.tenant.slug
    welcome = welcome_of(assistant) if assistant else None
    sidebar = sidebar_context(member, current="" if conversation is None else str(conversation.client_id))
    brand = sidebar["brand"]
    attachments = attachment_limits(assistant.tenant) if assistant else None
    provider = choose_provider(assistant) if assistant else None
    sees_images = provider is not None and provider.sees_images
    context = {
        **sidebar,
        "assistants": assistants,
        "assistant": assistant,
        "provider": describe_provider(assistant) if assistant and is_told(member, Fact.MODEL, brand=brand) else "",
        "attachments": attachments,
        "accept": "" if attachments is None else attachments.accept(images=sees_images),
        "sees_images": sees_images,
        "reads_pdfs": provider is not None and provider.reads_pdfs,
        "is_small": provider is not None and provider.is_small,
        "source": "" if provider is None else provider.source,
        "audience": audience_of(member).value,
        "digital_source_type": DIGITAL_SOURCE_TYPE,
        "ai_notice": ai_notice(assistant, brand) if assistant else None,
        "details": detail_scripts(),
        "composer_parts": json.dumps(_composer_parts(member, assistant)),
        "greeting": (welcome.greeting if welcome else "") or brand.greeting,
        "starters": welcome.starters if welcome else (),
        "models": json.dumps(assistant.other_models if assistant else []),
        "conversation": conversation,
        "is_new": conversation is None or is_new(conversation=conversation),
        "menu_entries": conversation_menu.entries(member=member),
        **parts_of("welcome", page.request),
        **(given or {}),
    }
    return render_page(page.request, "assistant/chat/chat.html", context)


def _composer_parts(member: Member, assistant: Assistant | None) -> list[dict[str, Any]]:
    if assistant is None or not composer_parts.added:
        return []
    return composer_parts.composer_parts(member=member, assistant_slug=assistant.slug)


@require_POST
@for_members
def rename(page: MemberRequest, thread: uuid.UUID) -> HttpResponse:
    """Rename a conversation to the form field `title`."""
    try:
        title = rename_conversation(
            member=page.member, conversation_id=thread, title=page.request.POST.get("title", "")
        )
    except ValueError as exc:
        return JsonResponse({"error": str(exc)}, status=400)
    if title is None:
        raise Http404
    return JsonResponse({"title": title})


@require_POST
@for_members
def delete(page: MemberRequest, thread: uuid.UUID) -> HttpResponse:
    """Delete a conversation; 409 while it is being answered."""
    try:
        is_deleted = delete_conversation(member=page.member, conversation_id=thread)
    except ConversationBusy:
        return JsonResponse({"error": _("This conversation is still being answered. Stop it first.")}, status=409)
    if not is_deleted:
        raise Http404
    return JsonResponse({"next": reverse("assistant:chat", kwargs={"tenant": page.member.tenant.slug})})
