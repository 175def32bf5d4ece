"""Finds the conversation that a client's threadId names."""

from __future__ import annotations

import uuid
from dataclasses import replace

from django.utils.translation import gettext as _

from assistant.models import Conversation
from assistant.services.conversations.thread_keys import find_thread
from assistant.services.errors import Refused
from assistant.services.runs.run_input import RunInput
from assistant.services.tenancy.members import Member


def known_thread(*, member: Member, assistant_slug: str, given: RunInput) -> RunInput:
    """Return an input with the id of the conversation that its threadId names; unchanged if it begins a new one.

    Makes a query only for a threadId that is no id of ours.
    """
    if not given.thread_key:
        return given
    found = find_thread(member=member, assistant_slug=assistant_slug, thread=given.thread_key)
    return given if found is None else replace(given, thread_id=found)


def unknown_thread(*, member: Member, assistant_slug: str, given: RunInput) -> RunInput:
    """Return the input to try again with, after its conversation could not be stored.

    Its id may be that of another member's conversation. For this member it then becomes the key of a new conversation.

    Raises:
        Refused: `thread_not_found`, if it is a conversation of the member's own with another assistant.
    """
    own = Conversation.objects.visible_to(tenant_id=member.tenant_id, user_id=member.user_id)
    slug = own.filter(pk=given.thread_id).values_list("assistant__slug", flat=True).first()
    if slug == assistant_slug:
        return given
    if slug is None and not given.thread_key:
        # The member may have chosen this id as the key of a conversation, which belongs to one assistant too.
        named = own.filter(thread_key=str(given.thread_id)).exclude(assistant__slug=assistant_slug)
        slug = named.values_list("assistant__slug", flat=True).first()
    if slug is not None and member.assistant_id is None:
        raise Refused("thread_not_found", _("There is no such conversation with this assistant."))
    keyed = replace(given, thread_key=given.thread_key or str(given.thread_id), thread_id=uuid.uuid4())
    return known_thread(member=member, assistant_slug=assistant_slug, given=keyed)
