"""What the widget is given before it connects: a token, and how the assistant looks."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.utils.crypto import salted_hmac

from assistant.contrib.end_users.services.member_tokens import mint_member_token
from assistant.contrib.end_users.services.tokens import MAX_SECONDS, MIN_SECONDS
from assistant.contrib.end_users.services.widget_brand import widget_brand
from assistant.models import Assistant
from assistant.services import composer_parts
from assistant.services.addresses import api_url
from assistant.services.assistants.configuration import find_assistant
from assistant.services.assistants.provider_choice import choose_provider
from assistant.services.assistants.welcome import greetings_of, notices_of, starters_of
from assistant.services.conversations.added_details import detail_scripts
from assistant.services.files.attachments import limits_of
from assistant.services.shown_notices import notice_scripts
from assistant.services.tenancy.authentication import (
    AccessDenied,
    BrowserSession,
    Caller,
    CredentialKind,
    Credentials,
    identify,
)
from assistant.services.tenancy.members import Member
from assistant.services.tenancy.row_scope import all_tenants
from assistant.toolkit.context import UserId


def widget_files(member: Member, assistant: Assistant) -> dict[str, Any] | None:
    """Return the upload address, the accepted kinds and the limits of attachments; None if none are allowed."""
    limits, provider = limits_of(member), choose_provider(assistant)
    if not limits.are_on:
        return None
    return {
        "url": api_url("attachments", tenant=member.tenant.slug),
        "accept": limits.accept(images=provider.sees_images),
        "max_bytes": limits.file_bytes,
        "most": limits.per_message,
        "sees_images": provider.sees_images,
        "reads_pdfs": provider.reads_pdfs,
    }


def visitor_name(*, tenant_id: int, user_id: UserId) -> str:
    """Return an opaque name, the same for each token of a person at a tenant."""
    return salted_hmac("assistant.widget.visitor", f"{tenant_id}:{user_id}", algorithm="sha256").hexdigest()[:16]


@all_tenants()
def grant_member(
    session: BrowserSession, *, tenant_slug: str, assistant_slug: str, site: str, page: str, seconds: int
) -> dict[str, Any]:
    """Return what the widget needs to speak for a signed-in member, for JSON.

    Args:
        site: the origin of the project's own site, on whose pages tokens work without being allowed.
        page: the origin of the page that asks, on whose pages alone the token works.
        seconds: how long the token is valid, 60 to 3600.

    Raises:
        AccessDenied: nobody is signed in, or not completely; they are no member of the tenant; it has no such active
            assistant; or `ASSISTANT_MEMBER_TOKENS` is off.
        ValueError: `seconds` is out of bounds.
    """
    if not MIN_SECONDS <= seconds <= MAX_SECONDS:
        raise ValueError(f"seconds is {MIN_SECONDS} to {MAX_SECONDS}, not {seconds}")
    caller = identify(
        Credentials(session=session), accepts=frozenset({CredentialKind.SESSION}), tenant_slug=tenant_slug
    )
    found = find_assistant(tenant_id=caller.member.tenant_id, slug=assistant_slug)
    if found is None or not settings.ASSISTANT_MEMBER_TOKENS:
        raise AccessDenied("wrong_address", "There is no such assistant here.")
    return _grant(caller, found, page, is_own=page == site, seconds=seconds)


def _grant(caller: Caller, assistant: Assistant, origin: str, *, is_own: bool, seconds: int) -> dict[str, Any]:
    member = caller.member
    token, until = mint_member_token(
        tenant_id=member.tenant_id,
        assistant_id=assistant.pk,
        user_id=member.user_id,
        session_key=caller.session_key,
        origin=origin,
        is_own=is_own,
        seconds=seconds,
    )
    return {
        "token": token,
        "expires_at": until.isoformat(),
        "socket": api_url("websocket", tenant=member.tenant.slug, assistant=assistant.slug),
        "visitor": visitor_name(tenant_id=member.tenant_id, user_id=member.user_id),
        "is_member": True,
        "assistant": {
            "slug": assistant.slug,
            "name": assistant.name,
            "description": assistant.description,
            "greetings": greetings_of(assistant),
            "starters": starters_of(assistant),
            "notices": notices_of(assistant),
            "other_models": assistant.other_models,
        },
        "brand": widget_brand(tenant_id=member.tenant_id),
        "files": widget_files(member, assistant),
        "notices": notice_scripts(),
        "details": detail_scripts(assistant),
        "composer_parts": composer_parts.composer_parts(member=member, assistant_slug=assistant.slug)
        if composer_parts.added
        else [],
    }
