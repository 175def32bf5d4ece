"""For host projects: tokens for the widget on pages of their own, and the pages that may show it. Public names."""

from __future__ import annotations

from typing import Any

from django.core.exceptions import PermissionDenied
from django.http import HttpRequest

from assistant.contrib.end_users.services.grants import grant_member
from assistant.contrib.end_users.services.tokens import DEFAULT_SECONDS, allow_origin
from assistant.models import Tenant
from assistant.services.tenancy.authentication import AccessDenied, BrowserSession
from assistant.services.tenancy.row_scope import all_tenants
from assistant.toolkit.unknown_options import list_options_of

__all__ = ["allow_origin", "member_grant"]


def member_grant(
    request: HttpRequest, *, tenant: Any, assistant: str, seconds: int = DEFAULT_SECONDS
) -> dict[str, Any]:
    """Return what the widget needs to speak for the signed-in member, with their permissions: the body of `token-url`.

    The token is for one assistant, and ends after `seconds`, with the session, or with the membership. It works on
    pages of the origin that asked for it alone: your own site's, or one of the assistant's widget origins.

    Args:
        tenant: a row of your tenant model, or the tenant's slug.
        assistant: its slug.
        seconds: 60 to 3600.

    Raises:
        PermissionDenied: nobody is signed in; they are no member; there is no such assistant;
            `ASSISTANT_MEMBER_TOKENS` is off; or a page of another site asks.
        ValueError: `seconds` is out of bounds.
    """
    if request.headers.get("Sec-Fetch-Site") == "cross-site":
        raise PermissionDenied("Pages of other sites get no token.")
    session = BrowserSession(request.session, user=lambda: request.user, is_cross_site=lambda: False)
    site = f"{request.scheme}://{request.get_host()}"
    try:
        return grant_member(
            session,
            tenant_slug=tenant if isinstance(tenant, str) else _slug_of(tenant),
            assistant_slug=assistant,
            site=site,
            # Browsers name no origin in a GET to the page's own.
            page=request.headers.get("Origin", site),
            seconds=seconds,
        )
    except AccessDenied as denied:
        raise PermissionDenied(str(denied)) from denied


@all_tenants()
def _slug_of(row: Any) -> str:
    return str(Tenant.objects.filter(external_id=str(row.pk)).values_list("slug", flat=True).first() or "")


list_options_of(__name__)
