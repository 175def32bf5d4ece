"""`manage.py assistant_seed`."""

from __future__ import annotations

from datetime import timedelta
from io import StringIO
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.management import call_command
from django.core.management.base import CommandError
from django.utils import timezone

from assistant.management.seed_rows import CONVERSATIONS, PEOPLE
from assistant.models import Conversation, Membership, Message, Run, Tenant, UsageEntry

pytestmark = pytest.mark.django_db


def seed(**options: Any) -> str:
    out = StringIO()
    call_command("assistant_seed", stdout=out, **{"tenants": 2, "days": 10, "force": True, **options})
    return out.getvalue()


def test_a_database_is_filled_with_use_of_the_days_before() -> None:
    printed = seed()
    assert Tenant.objects.count() == 2
    assert Membership.objects.filter(role="owner").count() == 2
    assert Membership.objects.count() == 2 * PEOPLE
    assert Conversation.objects.count() == 2 * CONVERSATIONS
    assert Run.objects.count() == UsageEntry.objects.count() == Message.objects.count() / 2
    assert f"{Run.objects.count()} Run" in printed
    oldest = Run.objects.order_by("started_at")[0].started_at
    assert timezone.now() - timedelta(days=11) < oldest < timezone.now() - timedelta(days=5)


def test_the_same_number_makes_the_same_rows() -> None:
    def made(number: int) -> list[tuple[str, str, int]]:
        Tenant.objects.all().delete()
        User.objects.all().delete()
        seed(seed=number)
        return list(Run.objects.order_by("run_id").values_list("run_id", "status", "input_tokens"))

    first = made(7)
    assert made(7) == first
    assert made(8) != first


def test_a_deployment_and_a_filled_database_are_refused() -> None:
    with pytest.raises(CommandError, match="DEBUG is false"):
        seed(force=False)
    seed()
    with pytest.raises(CommandError, match="filled before"):
        seed()
    with pytest.raises(CommandError, match="1 to"):
        seed(tenants=0)
