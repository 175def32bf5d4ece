"""What an open chat is told while the model that answers in it is failing."""

from __future__ import annotations

from django.db.models import Q

from assistant.contrib.provider_health.services import failing
from assistant.contrib.provider_health.services.answers import AskedModel
from assistant.core.values.events import Custom
from assistant.models import Conversation, Provider
from assistant.services.assistants.provider_use import answering_assistants


def provider_of(conversation: Conversation) -> Custom:
    """Return the event that says whether the model of a conversation's assistant was failing when last looked at."""
    known = failing.last_read()
    return Custom("thread.provider", {"isFailing": bool(known) and _asked_in(conversation) in known})


def _asked_in(conversation: Conversation) -> AskedModel | None:
    answering = answering_assistants().filter(pk=conversation.assistant_id, tenant_id=conversation.tenant_id)
    provider_id, model = answering.values_list("answering", "model").get()
    of_tenant = Q(tenant=conversation.tenant_id) | Q(tenant=None)
    provider = Provider.objects.filter(of_tenant, pk=provider_id).first()
    return None if provider is None else AskedModel(provider.tenant_id, provider.name, model or provider.default_model)
