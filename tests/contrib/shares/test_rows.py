"""Whether a tenant allows links: on the page of its settings, in its bundle, and nowhere in a site without the app."""

from __future__ import annotations

import json

import pytest
from django.test import Client

from assistant.contrib.bundles.services.parts import added_parts
from assistant.contrib.bundles.services.target import Target
from assistant.contrib.shares.models import TenantSharing
from assistant.models import AuditEntry
from tests.base import Cast
from tests.contrib.panel.tenants.test_scope import retention_form
from tests.contrib.shares.sharing import set_sharing

pytestmark = pytest.mark.django_db


def test_a_tenants_choice_is_on_its_page_and_audited(client: Client, cast: Cast) -> None:
    client.force_login(cast.amy)
    own = {
        "name": "Acme",
        "timezone": "UTC",
        **retention_form(),
        "sharing-TOTAL_FORMS": 1,
        "sharing-0-is_allowed": "on",
    }
    assert client.post(f"/admin/assistant/tenant/{cast.acme.pk}/change/", own).status_code == 302
    assert TenantSharing.objects.get(tenant=cast.acme).is_allowed
    assert "sharing of conversations" in json.dumps(AuditEntry.objects.get(action="tenant.change").details)
    client.post(f"/admin/assistant/tenant/{cast.globex.pk}/change/", own)
    assert not TenantSharing.objects.filter(tenant=cast.globex).exists()


def test_a_tenants_choice_is_in_its_bundle_and_in_none_of_an_assistant(cast: Cast) -> None:
    set_sharing(cast.acme)
    (part,) = [part for part in added_parts() if part.key == "sharing"]
    (exported,) = part.export(cast.acme, None)
    assert list(part.export(cast.acme, cast.support)) == []
    for expected in ("create", "same"):
        (entry,) = part.take(Target(tenant=cast.globex, actor=None, is_operator=True), [exported], True)
        assert entry.kind == expected
    assert TenantSharing.objects.get(tenant=cast.globex).is_allowed
