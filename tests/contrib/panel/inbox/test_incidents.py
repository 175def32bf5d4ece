"""Incidents are seen by the tenant's admins, and resolved by operators."""

from __future__ import annotations

import pytest
from django.test import Client

from assistant.models import Incident
from tests.base import Cast


@pytest.fixture
def incident(cast: Cast) -> Incident:
    return Incident.objects.create(tenant=cast.acme, user=cast.amy, tool="get_customer", description="a foreign row")


def page_of(incident: Incident) -> str:
    return f"/admin/assistant/incident/{incident.pk}/change/"


def test_a_tenants_admin_sees_an_incident_and_cannot_resolve_it(amys: Client, incident: Incident) -> None:
    page = amys.get(page_of(incident)).content.decode()
    assert "a foreign row" in page and 'name="is_resolved"' not in page
    assert amys.post(page_of(incident), {"is_resolved": "on"}).status_code == 403
    incident.refresh_from_db()
    assert not incident.is_resolved


def test_an_operator_resolves_it(root: Client, incident: Incident) -> None:
    assert root.post(page_of(incident), {"is_resolved": "on"}).status_code == 302
    incident.refresh_from_db()
    assert incident.is_resolved


def test_another_tenants_admin_finds_no_such_incident(cast: Cast, incident: Incident) -> None:
    client = Client()
    client.force_login(cast.greta)
    assert "a foreign row" not in client.get(page_of(incident), follow=True).content.decode()
    client.post(page_of(incident), {"is_resolved": "on"})
    incident.refresh_from_db()
    assert not incident.is_resolved
