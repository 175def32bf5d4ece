"""To which providers a tenant's assistants send what, for the page that an owner reads before the first key."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import urlsplit

from django.db.models import Q

from assistant.contrib.panel.reports.tenant_page import LISTED
from assistant.models import Assistant, Provider, Tenant
from assistant.models.retention import KINDS, Retention, effective
from assistant.services.assistants.configuration import with_prompt
from assistant.services.assistants.fallback_choice import fallback_of
from assistant.services.assistants.provider_choice import ProviderChoice, choose_provider

# What answers on this machine, or answers nothing.
_HERE = {"embedded", "stand-in"}


@dataclass(frozen=True, slots=True)
class Recipient:
    """Where assistants send what a question needs.

    Attributes:
        host: the host of its address; "" for the usual one of the provider's kind, or for what is on this machine.
        is_here: nothing leaves this machine.
        assistants: the names of those that it answers, and of those that it takes over for.
    """

    name: str
    model: str
    host: str
    is_here: bool
    sees_images: bool
    reads_pdfs: bool
    assistants: tuple[str, ...]
    takes_over: tuple[str, ...]


def recipients_of(tenant: Tenant) -> list[Recipient]:
    """Return where the tenant's active assistants send questions, those that most of them use first; two queries."""
    rows = with_prompt(Assistant.objects.filter(tenant=tenant, is_active=True)).order_by("name", "pk")[:LISTED]
    allowed = Provider.objects.filter(Q(tenant=None) | Q(tenant=tenant))
    providers = {provider.pk: provider for provider in allowed}
    used: dict[tuple[str, ...], tuple[ProviderChoice, list[str], list[str]]] = {}

    def add(choice: ProviderChoice, assistant: Assistant, *, is_fallback: bool) -> None:
        key = (choice.name, choice.model, choice.base_url, choice.wire_format)
        _, own, others = used.setdefault(key, (choice, [], []))
        (others if is_fallback else own).append(assistant.name)

    for assistant in rows:
        choice = choose_provider(assistant)
        add(choice, assistant, is_fallback=False)
        fallback = fallback_of(assistant=assistant, choice=choice, own=choice, providers=providers)
        if fallback is not None:
            add(fallback, assistant, is_fallback=True)
    found = [_recipient(choice, own, others) for choice, own, others in used.values()]
    return sorted(found, key=lambda one: (-len(one.assistants), one.name, one.model))


def _recipient(choice: ProviderChoice, own: list[str], others: list[str]) -> Recipient:
    return Recipient(
        name=choice.name,
        model=choice.model,
        host=urlsplit(choice.base_url).hostname or "",
        is_here=choice.source in _HERE,
        sees_images=choice.sees_images,
        reads_pdfs=choice.reads_pdfs,
        assistants=tuple(own),
        takes_over=tuple(others),
    )


def kept_for(tenant: Tenant) -> list[tuple[str, int | None]]:
    """Return for how many days each kind of record is kept here, None for as long as the tenant exists; one query."""
    own = Retention.objects.filter(tenant=tenant).first()
    names = {column.name: str(column.verbose_name) for column in Retention._meta.fields}
    return [(names[kind], effective(own, kind)) for kind in KINDS if kind != "deliveries"]
