"""Builds the requests that warm up the embedded model, so that it caches assistants' tools and prompts."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from itertools import islice

from django.db import DatabaseError
from django.db.models import Window
from django.db.models.functions import RowNumber

from assistant.core.llm.protocol import ModelRequest
from assistant.core.values.messages import Message
from assistant.models import Assistant, Membership
from assistant.services.assistants.configuration import prompt_of, with_prompt
from assistant.services.assistants.prompt_values import PromptValues
from assistant.services.assistants.provider_choice import choose_provider
from assistant.services.toolpolicy.catalogue import registry
from assistant.services.toolpolicy.policy import effective_tools


def likely_requests(*, count: int) -> list[ModelRequest]:
    """Return the first requests of conversations with assistants that use the embedded model, tenants in turn.

    Tools are those of each tenant's first member. Without a database, one request with the whole catalogue.
    """
    try:
        found = list(islice(_requests(), count))
    except DatabaseError:
        found = []
    return found or [ModelRequest([Message("user", "hi")], tools=list(registry()))]


def _requests() -> Iterator[ModelRequest]:
    place = Window(RowNumber(), partition_by="tenant_id", order_by="pk")
    active = Assistant.objects.filter(is_active=True, tenant__is_active=True).annotate(place=place)
    for assistant in with_prompt(active.order_by("place", "pk")):
        if choose_provider(assistant).source not in ("embedded", "stand-in"):
            continue
        member = Membership.objects.filter(tenant_id=assistant.tenant_id, user__is_active=True).order_by("pk").first()
        if member is None:
            continue
        offered = effective_tools(tenant_id=assistant.tenant_id, user_id=member.user_id, assistant_id=assistant.pk)
        values = partial(PromptValues, tenant=assistant.tenant, user_id=member.user_id)
        yield ModelRequest(
            [Message("system", prompt_of(assistant, values)), Message("user", "hi")],
            tools=[entry.tool for entry in offered if entry.policy != "off"],
        )
