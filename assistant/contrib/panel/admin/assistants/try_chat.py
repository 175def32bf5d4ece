"""Links from the control panel to test chats, each of which belongs to a member."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpRequest
from django.utils.http import urlencode
from django.utils.translation import gettext as _

from assistant.admin.base.own_addresses import reverse
from assistant.contrib.panel.services.prompt_tests.shown_test import QUESTION_TO_TRY, TAKEN_FOR
from assistant.models import Assistant, Membership, PromptVersion


def is_tester(request: HttpRequest, assistant: Assistant) -> bool:
    """Return whether the user is a member of the assistant's tenant, in whose name a test can be."""
    members = Membership.objects.filter(tenant=assistant.tenant_id, user=request.user.pk)
    return members.exclude(role=Membership.Role.END_USER).exists()


def try_url(request: HttpRequest, assistant: Assistant, version: PromptVersion, *, question: str = "") -> str | None:
    """Return the address of a test chat with a version; None, with a message, for users who are not members.

    Args:
        question: what the message box begins with; it is kept in the session, and in no address.
    """
    if not is_tester(request, assistant):
        text = _("A test chat is a member's, and you are not a member of %(tenant)s: compare answers instead.")
        messages.warning(request, text % {"tenant": assistant.tenant.name})
        return None
    if question:
        request.session[QUESTION_TO_TRY] = question
        request.session[TAKEN_FOR] = version.pk
    else:
        request.session.pop(QUESTION_TO_TRY, None)
        request.session.pop(TAKEN_FOR, None)
    url = reverse("assistant:chat", kwargs={"tenant": assistant.tenant.slug})
    return f"{url}?{urlencode({'test': version.pk})}"
