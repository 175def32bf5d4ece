"""What the list of conversations needs, and what stands above and below it."""

from __future__ import annotations

from typing import Any

from django.http import Http404

from assistant.models import Conversation
from assistant.pages import conversation_menu, member_links
from assistant.services.conversations.pagination import MAX_PAGE, InvalidCursor, conversation_page
from assistant.services.conversations.snippets import snippets_of
from assistant.services.shown_notices import notice_scripts
from assistant.services.tenancy.brands import brand_of
from assistant.services.tenancy.members import Member, memberships_of

PAGE_SIZE = 50


def list_context(
    member: Member, *, search: str = "", is_archived: bool = False, cursor: str = "", current: str = ""
) -> dict[str, Any]:
    """Return what the template of the list needs: the pinned ones first, and those of one page.

    Raises:
        Http404: `cursor` is none of an earlier page's.
    """
    search = search.strip()
    is_whole = not search and not is_archived
    pinned: list[Conversation] = []
    if is_whole and not cursor:
        pinned = list(conversation_page(member=member, is_pinned=True, limit=MAX_PAGE).entries)
    try:
        page = conversation_page(
            member=member,
            search=search,
            is_archived=is_archived,
            is_pinned=False if is_whole else None,
            cursor=cursor,
            limit=PAGE_SIZE,
        )
    except InvalidCursor as exc:
        raise Http404 from exc
    found = snippets_of(member=member, conversations=[one.pk for one in page.entries], search=search)
    return {
        "tenant": member.tenant,
        "pinned": pinned,
        "found": [(one, found.get(one.pk)) for one in page.entries],
        "next_cursor": page.next_cursor,
        "is_first": not cursor,
        "current": current,
        "search": search,
        "is_archived": is_archived,
    }


def sidebar_context(member: Member, *, current: str = "") -> dict[str, Any]:
    """Return what the template of the whole list, with what stands above and below it, needs."""
    return {
        **list_context(member, current=current),
        "member": member,
        "memberships": memberships_of(user_id=member.user_id),
        "account_links": member_links.account_links(),
        "places": member_links.places(),
        "links": member_links.links(member=member),
        "list_buttons": conversation_menu.below_list(),
        "brand": brand_of(tenant_id=member.tenant_id),
        "notices": notice_scripts(),
    }
