"""Pages of members inside the shell of the chat: with the list of conversations beside them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from django.http import HttpResponse

from assistant.models import Assistant
from assistant.pages.base_template import render_page
from assistant.pages.sidebar import sidebar_context

if TYPE_CHECKING:
    from assistant.pages.members import MemberRequest


def render_in_shell(page: MemberRequest, template: str, context: Mapping[str, Any]) -> HttpResponse:
    """Render a template that extends `assistant/chat/shell.html`; `context` is added to what the shell needs.

    The page follows the notices of optional apps by a connection to the tenant's first assistant, if it has one.
    """
    assistants = Assistant.objects.filter(tenant_id=page.member.tenant_id, is_active=True)
    first = assistants.order_by("pk").first()
    shell = {**sidebar_context(page.member), "listens_at": first}
    return render_page(page.request, template, {**shell, **context})
