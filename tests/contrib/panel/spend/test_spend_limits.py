"""Limits, warnings and the model above the soft threshold are set on the page of spend, and audited with values."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from django.test import Client

from assistant.contrib.insights.models import SpendNotice, WarningSettings
from assistant.contrib.panel.reports.months import Month
from assistant.models import AuditEntry, Provider, TenantLimits
from tests.base import Cast
from tests.contrib.panel.conftest import signed_in
from tests.contrib.panel.home.test_frame import pick
from tests.contrib.panel.tenants.test_custom_roles import holder
from tests.factories import make_provider

PAGE = "/admin/spend/"


def fields(**changes: object) -> dict[str, Any]:
    return {"warned_at": "50, 80, 100", "warned": "", **changes}


def values() -> dict[str, list[str | None]]:
    found: dict[str, list[str | None]] = AuditEntry.objects.get(action="limits.set").details["values"]
    return found


def test_an_operator_sets_a_limit_with_its_warnings_on_the_page(root: Client, cast: Cast) -> None:
    url = f"{PAGE}?tenant={cast.acme.pk}"
    form = fields(tenant_cost_per_month="12.50", warned_at="90 %; 70,70", warned="a@acme.example b@acme.example")
    answer = root.post(url, form)
    assert (answer.status_code, answer.headers["Location"]) == (302, url)
    limits = TenantLimits.objects.get(tenant=cast.acme)
    assert float(limits.tenant_cost_per_month or 0) == 12.5
    warnings = WarningSettings.objects.get(tenant=cast.acme)
    assert (warnings.percentages, warnings.emails) == ([70, 90], ["a@acme.example", "b@acme.example"])
    assert values() == {
        "tenant_cost_per_month": [None, "12.50"],
        "warned_at": ["50, 80, 100", "70, 90"],
        "addresses_warned": ["0", "2"],
    }
    assert 'value="70, 90"' in root.get(url).content.decode()
    assert not TenantLimits.objects.filter(tenant=cast.globex).exists()


def test_a_picked_tenants_limits_are_set_there_too(root: Client, cast: Cast) -> None:
    pick(root, "globex")
    assert root.post(PAGE, fields(tenant_cost_per_month="3")).status_code == 302
    assert TenantLimits.objects.get().tenant == cast.globex


def test_an_admin_sets_warnings_and_the_soft_threshold_but_not_the_whole_limit(amys: Client, cast: Cast) -> None:
    small = make_provider(cast.acme, base_url="https://llm.example.com/v1", name="Small")
    form = fields(tenant_cost_per_month="999", soft_percent="75", soft_provider=small.pk, soft_model="tiny-1")
    assert amys.post(PAGE, form).status_code == 302
    limits = TenantLimits.objects.get()
    assert limits.tenant_cost_per_month is None
    assert (limits.soft_percent, limits.soft_provider, limits.soft_model) == (75, small, "tiny-1")
    assert values() == {
        "soft_percent": [None, "75"], "soft_provider": [None, "Small"], "soft_model": [None, "tiny-1"],
    }  # fmt: skip


def test_another_tenants_provider_cannot_be_chosen(amys: Client, cast: Cast) -> None:
    foreign = make_provider(cast.globex, base_url="https://llm.example.com/v1", name="Foreign")
    page = amys.post(PAGE, fields(soft_percent="75", soft_provider=foreign.pk))
    assert page.status_code == 200
    assert "Foreign" not in page.content.decode()
    assert not TenantLimits.objects.exists()


@pytest.mark.parametrize(
    "changes",
    [
        {"warned_at": "0"}, {"warned_at": "101"}, {"warned_at": "half"}, {"warned_at": "5e1"}, {"warned_at": "²"},
        {"warned_at": " ".join(map(str, range(1, 12)))}, {"warned": "nobody"},
        {"warned": " ".join(f"a{n}@acme.example" for n in range(11))}, {"soft_percent": "101", "soft_model": "m"},
        {"soft_percent": "80"},
    ],
)  # fmt: skip
def test_what_is_no_threshold_is_refused(changes: dict[str, str], amys: Client) -> None:
    page: Any = amys.post(PAGE, fields(**changes))
    assert page.status_code == 200
    assert page.context["form"].errors
    assert not TenantLimits.objects.exists()


def test_warnings_that_a_form_does_not_have_stay(root: Client, cast: Cast) -> None:
    WarningSettings.objects.create(tenant=cast.acme, percentages=[60], emails=["a@acme.example"])
    root.post(f"{PAGE}?tenant={cast.acme.pk}", {"tenant_cost_per_month": "1"})
    warnings = WarningSettings.objects.get()
    assert (warnings.percentages, warnings.emails) == ([60], ["a@acme.example"])


def test_the_tab_of_the_tenant_has_the_same_form(root: Client, cast: Cast) -> None:
    tab = f"/admin/assistant/tenant/{cast.acme.pk}/spend/"
    assert 'name="warned_at"' in root.get(tab).content.decode()
    assert root.post(tab, fields(warned_at="")).status_code == 302
    assert WarningSettings.objects.get().percentages == []


def test_who_may_only_see_the_spend_sets_nothing(cast: Cast) -> None:
    client = holder(cast, "spend")
    assert "Save the limits" not in client.get(PAGE).content.decode()
    assert client.post(PAGE, fields(member_messages_per_day="1")).status_code == 403
    for other in (signed_in(cast.greta), signed_in(cast.amy)):
        foreign = cast.acme if other.session["_auth_user_id"] == str(cast.greta.pk) else cast.globex
        assert other.post(f"{PAGE}?tenant={foreign.pk}", fields(member_messages_per_day="1")).status_code == 404
    assert signed_in(cast.root).post(PAGE, fields()).status_code == 403
    strict = Client(enforce_csrf_checks=True)
    strict.force_login(cast.amy)
    assert strict.post(PAGE, fields(member_messages_per_day="1")).status_code == 403
    assert not TenantLimits.objects.exists()


def test_the_page_says_what_was_told_in_its_month(amys: Client, cast: Cast) -> None:
    month = Month.of(datetime(2026, 3, 1, tzinfo=UTC))
    for tenant, percent in ((cast.acme, 50), (cast.globex, 77)):
        SpendNotice.objects.create(tenant=tenant, month=month.first, percent=percent, spent=1, limit=2)
    page = amys.get(f"{PAGE}?month=2026-03").content.decode()
    assert "50 % of the limit" in page
    assert "77 %" not in page
    assert "50 % of the limit" not in amys.get(f"{PAGE}?month=2026-02").content.decode()


def test_keys_of_providers_are_not_read(amys: Client, cast: Cast) -> None:
    provider = make_provider(base_url="https://llm.example.com/v1", name="Shared")
    Provider.objects.filter(pk=provider.pk).update(api_key="sk-canary-7319")
    page = amys.get(PAGE).content.decode()
    assert "Shared" in page
    assert "sk-canary" not in page
