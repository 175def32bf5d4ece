"""`assistant_seed` makes what the improvement desk shows, where the app is installed."""

from __future__ import annotations

import pytest
from django.test import Client

from assistant.contrib.improvements.models import Annotation, ProblemCase, ProblemGroup
from tests.contrib.demo.test_assistant_seed import seed

pytestmark = pytest.mark.django_db
DESK = "/admin/assistant_improvements/problemgroup/"


def test_the_desk_and_the_pages_of_its_groups_are_full(admin_client: Client) -> None:
    seed(tenants=3)
    groups = list(ProblemGroup.objects.all())
    assert len(groups) >= 6
    assert ProblemCase.objects.count() == 4 * len(groups)
    assert Annotation.objects.count() == len(groups)
    assert {group.state for group in groups} == {"open", "changed"}
    desk = admin_client.get(DESK, follow=True).content.decode()
    assert "Tool error" in desk or "Missing knowledge" in desk
    for group in groups:
        page = admin_client.get(f"{DESK}{group.pk}/change/", follow=True)
        assert page.status_code == 200
        case = group.cases.first()
        assert case is not None and case.tenant_id == group.tenant_id == case.run.tenant_id
        assert case.question in page.content.decode()
