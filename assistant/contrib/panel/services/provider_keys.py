"""Replaces a provider's key, if the new one works."""

from __future__ import annotations

from django.db import transaction
from django.utils.translation import gettext as _

from assistant.contrib.panel.services.provider_check import Check, check_choice, default_choice_of
from assistant.models import Provider
from assistant.services.tenancy import audit_trail


class KeyRefused(ValueError):
    """The new key was not stored; the message says why."""


def rotate_key(*, provider: Provider, api_key: str, actor: audit_trail.Actor) -> Check:
    """Replace a provider's key, from the next request on, once the provider has answered with the new one.

    Raises:
        KeyRefused: it did not answer, or its address was changed meanwhile; the old key stays.
    """
    found = check_choice(default_choice_of(provider, api_key=api_key))
    if not found.is_good:
        raise KeyRefused(found.sentence)
    with transaction.atomic():
        same = Provider.objects.select_for_update().filter(
            pk=provider.pk, tenant=provider.tenant_id, base_url=provider.base_url
        )
        row = same.defer("api_key").first()
        if row is None:
            # The key was tried at the old address, and must not be sent to another one.
            raise KeyRefused(_("The provider was changed meanwhile: try again."))
        row.api_key = api_key
        row.is_untested = False
        row.save(update_fields=["api_key", "is_untested"])
        audit_trail.record(actor=actor, action="provider.rotate_key", target=row.name, tenant=row.tenant)
    return found
