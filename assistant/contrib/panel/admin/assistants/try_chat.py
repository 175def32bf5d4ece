"""Links from the control panel to test chats, each of which belongs to a member."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpRequest
from django.urls import NoReverseMatch
from django.utils.http import urlencode
from django.utils.translation import gettext as _

from assistant.admin.base.own_addresses import reverse
from assistant.admin.base.visible_tenants import is_operator
from assistant.contrib.panel.services.prompt_tests.shown_test import QUESTION_TO_TRY, TAKEN_FOR
from assistant.models import Assistant, Membership, PromptVersion

_try_as = ""


def try_as_with(url_name: str) -> None:
    """Let operators try prompts as any member, at an address of an optional app.

    Args:
        url_name: of a view that takes the assistant's primary key, and by POST `version`, `user` and `said`.
    """
    global _try_as  # noqa: PLW0603 - of the whole process
    _try_as = url_name


def try_as_url(request: HttpRequest, assistant: Assistant) -> str:
    """Return the address at which the user tries a prompt as any member; "" if they may not, or nothing does that."""
    if not _try_as or not is_operator(request):
        return ""
    try:
        return reverse(_try_as, args=[assistant.pk])
    except NoReverseMatch:
        return ""


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
