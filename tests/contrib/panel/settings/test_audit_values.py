"""The audit trail says which value was changed from what to what, and holds no secret."""

from __future__ import annotations

from decimal import Decimal

from django.test import Client

from assistant.contrib.panel.admin.base.action_titles import action_title
from assistant.models import AuditEntry, TenantLimits
from tests.base import Cast
from tests.contrib.panel.tenants.test_scope import new_assistant
from tests.factories import make_provider

LIST = "/admin/assistant/auditentry/"


def test_a_change_of_limits_is_recorded_with_its_values(root: Client, cast: Cast) -> None:
    TenantLimits.objects.create(tenant=cast.acme, tenant_cost_per_month=Decimal(10))
    form = {"tenant_cost_per_month": "25", "member_runs": "3"}
    assert root.post(f"/admin/assistant/tenant/{cast.acme.pk}/spend/", form).status_code == 302
    entry = AuditEntry.objects.get(action="limits.set")
    assert entry.details["values"] == {"tenant_cost_per_month": ["10.00", "25"], "member_runs": [None, "3"]}
    page = root.get(LIST).content.decode()
    assert "All members together: cost a month: 10.00 → 25" in page
    assert "Each member: runs at once: — → 3" in page


def test_a_change_of_a_run_limit_is_recorded_with_its_values(amys: Client, cast: Cast) -> None:
    form = new_assistant(tenant=cast.acme.pk, slug="support", max_rounds=7)
    assert amys.post(f"/admin/assistant/assistant/{cast.support.pk}/change/", form).status_code == 302
    assert AuditEntry.objects.get(action="assistant.change").details["values"]["max_rounds"] == ["20", "7"]


def test_no_secret_and_no_text_is_recorded(root: Client, cast: Cast) -> None:
    row = make_provider(None, base_url="https://llm.example.com/v1")
    form = {"name": "New name", "base_url": "https://llm.example.com/v1", "default_model": "m", "prices": "{}"}
    form |= {"new_api_key": "sk-canary-9", "is_small": "on"}
    assert root.post(f"/admin/assistant/provider/{row.pk}/change/", form).status_code == 302
    entry = AuditEntry.objects.get(action="provider.change")
    assert entry.details["values"] == {"is_small": ["False", "True"], "default_model": ["test-model", "m"]}
    assert not {text for text in ("sk-canary-9", "New name") if text in str(entry.details)}
    page = root.get(LIST).content.decode()
    assert "small model: no → yes" in page
    assert "default model: test-model → m" in page
    assert page.count("small model") == 1
    assert "changed: name" in page


def test_another_provider_is_recorded_by_its_name(amys: Client, cast: Cast) -> None:
    row = make_provider(cast.acme, base_url="https://llm.example.com/v1", name="New one")
    form = new_assistant(tenant=cast.acme.pk, slug="support", provider=row.pk, model="big")
    assert amys.post(f"/admin/assistant/assistant/{cast.support.pk}/change/", form).status_code == 302
    page = amys.get(LIST).content.decode()
    assert "provider: — → New one" in page
    assert "model: — → big" in page
    form |= {"provider": ""}
    assert amys.post(f"/admin/assistant/assistant/{cast.support.pk}/change/", form).status_code == 302
    assert "provider: New one → —" in amys.get(LIST).content.decode()


def test_a_switch_is_listed_with_the_policy_before_and_after(root: Client, cast: Cast) -> None:
    AuditEntry.objects.create(action="tool.switch", target="x", details={"policy": "ask", "before": "follow"})
    AuditEntry.objects.create(action="odd", target="x", details=["no object"])
    assert "no switch of its own → asks first" in root.get(LIST).content.decode()


def test_the_page_of_an_entry_says_what_was_done_in_words(root: Client, cast: Cast) -> None:
    entry = AuditEntry.objects.create(tenant=cast.acme, action="limits.set", target="acme")
    page = root.get(f"{LIST}{entry.pk}/change/").content.decode()
    assert f'<div class="readonly">{action_title("limits.set")}</div>' in page
    assert '<div class="readonly">limits.set</div>' not in page


def test_the_trail_is_in_the_language_of_the_page(root: Client, cast: Cast) -> None:
    values = {"tenant_runs": ["3", None], "removed_one": ["1", "2"]}
    AuditEntry.objects.create(action="limits.set", target="x", details={"values": values})
    changes = [{"changed": {"fields": ["Shows tokens and cost", "Removed one"]}}]
    details = {"values": {"after_untrusted": ["ask", "off"], "trusts_documents": ["False", "True"]}, "changes": changes}
    AuditEntry.objects.create(action="tenant.change", target="x", details=details)
    AuditEntry.objects.create(action="tool.switch", target="x", details={"policy": "ask", "before": "on"})
    page = root.get(LIST, headers={"Accept-Language": "de"}).content.decode()
    # PostgreSQL keeps the keys of an object in an order of its own.
    assert "Alle Mitglieder zusammen: Läufe gleichzeitig: 3 → —" in page
    assert "removed one: 1 → 2" in page
    assert "Werkzeuge nach nicht vertrauenswürdigem Text: " in page
    assert "vertraut seinen Dokumenten: nein → ja" in page
    assert "; geändert: zeigt Token und Kosten, Removed one" in page
    assert "an → fragt zuerst" in page
