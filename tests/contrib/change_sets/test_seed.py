"""`assistant_seed` makes change sets in their states, where the app is installed."""

from __future__ import annotations

import pytest
from django.test import Client

from assistant.contrib.change_sets.models import AppliedChange, ChangeSet
from tests.contrib.demo.test_assistant_seed import seed

pytestmark = pytest.mark.django_db
SETS = "/admin/assistant_change_sets/changeset/"


def test_sets_are_made_in_their_states_and_their_pages_show_them(admin_client: Client) -> None:
    seed(tenants=8)
    rows = list(ChangeSet.objects.all())
    assert {row.state for row in rows} == {"draft", "on", "ended"}
    assert AppliedChange.objects.filter(is_in_force=True).exists()
    for row in rows:
        page = admin_client.get(f"{SETS}{row.pk}/change/")
        assert page.status_code == 200
        assert row.name in page.content.decode()
