"""With the core alone, operators and tenants' admins manage everything on Django's own pages of models."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.admin import AdminSite
from django.contrib.auth.models import User
from django.template.utils import get_app_template_dirs
from django.test import Client
from django.urls import include, path
from pytest_django import Settings

from assistant.admin import PLAIN_PAGES
from assistant.admin.base.late_pages import late_page
from assistant.admin.base.merging import SHOWN
from assistant.models import (
    Assistant,
    AuditEntry,
    Membership,
    PromptVersion,
    Provider,
    Tenant,
    TenantLimits,
    ToolSetting,
)
from tests.base import Cast
from tests.factories import make_provider

pytestmark = [pytest.mark.django_db, pytest.mark.urls(__name__)]

site = AdminSite()
for model, name in PLAIN_PAGES.items():
    site.register(model, late_page(f"assistant.admin.{name}"))  # type: ignore[arg-type]
# What a host has that installs the core alone, and keeps Django's own site.
urlpatterns = [path("admin/", site.urls), path("", include("assistant.urls"))]


@pytest.fixture(autouse=True)
def own_templates(settings: Settings) -> None:
    """As without the control panel, whose templates are for its own pages of these models."""
    engine = settings.TEMPLATES[0]
    folders = [
        folder for folder in get_app_template_dirs("templates") if folder.parts[-4:-2] != ("assistant", "contrib")
    ]
    settings.TEMPLATES = [engine | {"APP_DIRS": False, "DIRS": [*engine["DIRS"], *folders]}]


def signed_in(user: User) -> Client:
    client = Client()
    client.force_login(user)
    return client


def stored(client: Client, model: Any, pk: int | None = None, **values: Any) -> None:
    """Fill in the form of a row, with what its page shows, and save it."""
    name = model._meta.model_name
    url = f"/admin/assistant/{name}/{'add' if pk is None else f'{pk}/change'}/"
    context = client.get(url).context
    formsets = [inline.formset for inline in context["inline_admin_formsets"]]
    forms = [context["adminform"].form, *(formset.management_form for formset in formsets)]
    forms += [form for formset in formsets for form in formset.forms]
    shown = {bound.html_name: bound.value() for form in forms for bound in form if bound.name != SHOWN}
    sent = {key: value for key, value in (shown | values).items() if value is not None and value is not False}
    answer = client.post(url, sent)
    problems = answer.context["errors"] if answer.status_code == 200 else ""
    assert answer.status_code == 302, problems


def test_an_operator_sets_up_a_tenant_that_chats(cast: Cast) -> None:
    root = signed_in(cast.root)
    stored(root, Tenant, name="Initech", slug="initech", timezone="UTC")
    tenant = Tenant.objects.get(slug="initech")
    person = {"username": "peter", "password": "correct-horse-9-battery"}
    stored(root, Membership, tenant=tenant.pk, role="owner", **person)
    address = {"base_url": "https://llm.example.com/v1", "default_model": "m"}
    stored(root, Provider, tenant=tenant.pk, name="Models", new_api_key="sk-1234567890", **address)
    stored(root, Assistant, tenant=tenant.pk, name="Helper", slug="helper", is_active="on")
    assistant = Assistant.objects.get(tenant=tenant)
    stored(root, PromptVersion, assistant=assistant.pk, text="You help.")
    version = PromptVersion.objects.get(assistant=assistant)
    published = {"action": "publish", "_selected_action": version.pk}
    assert root.post("/admin/assistant/promptversion/", published).status_code == 302
    stored(root, ToolSetting, tenant=tenant.pk, tool="current_time", policy="ask")
    stored(root, TenantLimits, tenant=tenant.pk, tenant_cost_per_month="20")
    version.refresh_from_db()
    assert version.status == PromptVersion.Status.PUBLISHED
    assert tenant.memberships.get().role == "owner"
    assert ToolSetting.objects.get(tenant=tenant).policy == "ask"
    assert TenantLimits.objects.get(tenant=tenant).tenant_cost_per_month == 20
    done = {*AuditEntry.objects.filter(tenant=tenant).values_list("action", flat=True)}
    assert {"tenant.add", "membership.add", "provider.add", "assistant.add", "prompt.publish", "limits.set"} <= done


def test_a_secret_is_stored_and_not_shown(cast: Cast) -> None:
    provider = make_provider(cast.acme, base_url="https://llm.example.com/v1", api_key="sk-of-acme")
    page = signed_in(cast.amy).get(f"/admin/assistant/provider/{provider.pk}/change/").content.decode()
    assert "sk-of-acme" not in page and 'name="new_api_key"' in page


def test_an_address_without_its_key_is_refused_as_in_the_panel(cast: Cast) -> None:
    provider = make_provider(cast.acme, base_url="https://llm.example.com/v1", api_key="sk-of-acme")
    with pytest.raises(AssertionError, match="The address changes"):
        stored(signed_in(cast.amy), Provider, provider.pk, base_url="https://elsewhere.example.com/v1")


@pytest.mark.parametrize("model", PLAIN_PAGES)
def test_a_tenants_admin_sees_the_rows_of_no_other(model: Any, cast: Cast) -> None:
    amys = signed_in(cast.amy)
    answer = amys.get(f"/admin/assistant/{model._meta.model_name}/")
    assert answer.status_code == 200
    assert "globex" not in answer.content.decode().lower()


def test_another_tenants_row_looks_as_if_it_did_not_exist(cast: Cast) -> None:
    amys = signed_in(cast.amy)
    for row in (cast.rival_support, cast.globex, cast.globex.memberships.get(user=cast.greta)):
        answer = amys.get(f"/admin/assistant/{row._meta.model_name}/{row.pk}/change/")
        assert (answer.status_code, answer.url) == (302, "/admin/")


def test_only_operators_set_the_limits_of_all_members_together(cast: Cast) -> None:
    limits = TenantLimits.objects.create(tenant=cast.acme, tenant_cost_per_month=5)
    stored(signed_in(cast.amy), TenantLimits, limits.pk, tenant_cost_per_month="500", member_cost_per_day="1")
    limits.refresh_from_db()
    assert (limits.tenant_cost_per_month, limits.member_cost_per_day) == (5, 1)


def test_a_tenant_is_suspended_and_activated_by_an_action(cast: Cast) -> None:
    root = signed_in(cast.root)
    for action, is_active in (("suspend", False), ("activate", True)):
        root.post("/admin/assistant/tenant/", {"action": action, "_selected_action": cast.acme.pk})
        cast.acme.refresh_from_db()
        assert cast.acme.is_active is is_active
    amys = signed_in(cast.amy)
    amys.post("/admin/assistant/tenant/", {"action": "suspend", "_selected_action": cast.acme.pk})
    cast.acme.refresh_from_db()
    assert cast.acme.is_active


def test_what_is_in_use_is_kept(cast: Cast) -> None:
    provider = make_provider(cast.acme, base_url="https://llm.example.com/v1")
    Assistant.objects.filter(pk=cast.support.pk, tenant=cast.acme).update(provider=provider)
    root = signed_in(cast.root)
    root.post(f"/admin/assistant/provider/{provider.pk}/delete/", {"post": "yes"})
    assert Provider.objects.filter(pk=provider.pk, tenant=cast.acme).exists()
