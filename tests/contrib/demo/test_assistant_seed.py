"""`manage.py assistant_seed`."""

from __future__ import annotations

import sys
from datetime import timedelta
from io import StringIO
from types import ModuleType
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.management import call_command
from django.core.management.base import CommandError
from django.test import Client
from django.utils import timezone

from assistant.contrib.demo.seeds import added
from assistant.contrib.demo.seeds import rows as seeded_rows
from assistant.contrib.demo.seeds.rows import CONVERSATIONS, PEOPLE
from assistant.contrib.price_list.models import ModelPrice
from assistant.models import ApiKey, Conversation, Document, Membership, Message, Run, Tenant, UsageEntry

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
    of_apps = Conversation.objects.filter(runs__run_id__startswith="seed-desk-")
    assert of_apps.exists()
    assert Conversation.objects.exclude(pk__in=of_apps).count() == 2 * CONVERSATIONS
    assert Run.objects.count() == UsageEntry.objects.count() == Message.objects.count() / 2
    assert f"{Run.objects.count()} Run" in printed
    oldest = Run.objects.order_by("started_at")[0].started_at
    assert timezone.now() - timedelta(days=11) < oldest < timezone.now() - timedelta(days=5)


def test_so_many_runs_are_made_and_the_first_tenant_has_the_most(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(seeded_rows, "HELD", 100)
    printed = seed(tenants=3, runs=600)
    of_first, *rest = [Run.objects.filter(tenant=tenant).count() for tenant in Tenant.objects.order_by("slug")]
    assert 600 <= of_first + sum(rest) < 650
    assert of_first > max(rest) * 1.8
    assert UsageEntry.objects.count() == Message.objects.count() / 2 == of_first + sum(rest)
    assert f"{of_first + sum(rest)} Run" in printed


def test_what_rooms_show_besides_conversations_is_made_too(admin_client: Client) -> None:
    seed(tenants=5)
    assert ModelPrice.objects.exists()
    keys = list(ApiKey.objects.all())
    assert keys
    for key in keys:
        assert admin_client.get(f"/admin/assistant/apikey/{key.pk}/change/", follow=True).status_code == 200


def test_usage_costs_what_the_price_list_says() -> None:
    seed()
    usage = UsageEntry.objects.earliest("created_at")
    of_usage, later = ModelPrice.objects.order_by("valid_from")
    assert usage.cost == of_usage.input * usage.input_tokens + of_usage.output * usage.output_tokens
    assert of_usage.valid_from <= usage.created_at.date() and later.valid_from > timezone.now().date()


def test_the_keys_open_no_door() -> None:
    def hashes() -> set[str]:
        Tenant.objects.all().delete()
        User.objects.all().delete()
        seed(seed=3)
        return set(ApiKey.objects.values_list("hashed", flat=True))

    assert not hashes() & hashes()


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


def test_optional_apps_add_rows_with_times_of_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    at = timezone.now() - timedelta(days=3)
    module: Any = ModuleType("seeds_of_a_test")
    module.TIMED = (Document,)
    module.rows_of = lambda chance, draft, owner, now: [
        Document(tenant=draft.assistant.tenant, title=owner.username, text="Seeded.", created_at=at, updated_at=at)
    ]
    monkeypatch.setitem(sys.modules, module.__name__, module)
    monkeypatch.setattr(added, "_modules", [])
    added.seed_from(module.__name__)
    seed()
    assert {(document.title, document.created_at) for document in Document.objects.filter(text="Seeded.")} == {
        ("seed-0001-1", at),
        ("seed-0002-1", at),
    }
