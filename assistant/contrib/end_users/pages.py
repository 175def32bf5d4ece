"""Tokens for the widget on pages of the project itself, for members who are signed in."""

from __future__ import annotations

from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpResponse, JsonResponse
from django.views.decorators.http import require_safe

from assistant.contrib.end_users.hosting import member_grant
from assistant.pages.members import MemberRequest, for_members


@require_safe
@for_members
def widget_token(page: MemberRequest) -> HttpResponse:
    """Answer the widget's `token-url` for the assistant that it names: with a token of the member who is signed in."""
    try:
        grant = member_grant(
            page.request, tenant=page.member.tenant.slug, assistant=page.request.GET.get("assistant", "")
        )
    except PermissionDenied as denied:
        raise Http404 from denied
    return JsonResponse(grant)
