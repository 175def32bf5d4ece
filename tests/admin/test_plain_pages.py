"""With the core alone, operators and tenants' admins manage everything on Django's own pages of models."""

from __future__ import annotations

import json
import re
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
from assistant.services.assistants.prompts import edit_draft
from assistant.services.toolpolicy.switch_query import read_secrets
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
    asked = root.post("/admin/assistant/promptversion/", published).content.decode()
    assert "Publish version 1 of Helper (initech/helper)?" in asked and "You help." in asked
    sure = published | {"sure": "1", "shown": re.findall(r'name="shown" value="(\w+)"', asked)}
    edit_draft(version=version, text="You help little.", note="")
    again = root.post("/admin/assistant/promptversion/", sure).content.decode()
    assert "has changed since" in again and "You help little." in again
    sure["shown"] = re.findall(r'name="shown" value="(\w+)"', again)
    assert root.post("/admin/assistant/promptversion/", sure).status_code == 302
    stored(root, ToolSetting, tenant=tenant.pk, tool="current_time", policy="ask")
    stored(root, TenantLimits, tenant=tenant.pk, tenant_cost_per_month="20")
    version.refresh_from_db()
    assert version.status == PromptVersion.Status.PUBLISHED
    assert tenant.memberships.get().role == "owner"
    assert ToolSetting.objects.get(tenant=tenant).policy == "ask"
    assert TenantLimits.objects.get(tenant=tenant).tenant_cost_per_month == 20
    done = {*AuditEntry.objects.filter(tenant=tenant).values_list("action", flat=True)}
    assert {"tenant.add", "membership.add", "provider.add", "assistant.add", "prompt.publish", "limits.set"} <= done


def test_the_plain_pages_take_as_json_what_the_panel_has_fields_for(cast: Cast) -> None:
    root, slug = signed_in(cast.root), cast.support.slug
    texts = {"de": {"greeting": "Hallo", "notice": "Eine KI antwortet."}}
    stored(root, Assistant, cast.support.pk, translations=json.dumps(texts))
    assert Assistant.objects.get(tenant=cast.acme, slug=slug).translations == texts
    with pytest.raises(AssertionError, match="must be an object with greeting"):
        stored(root, Assistant, cast.support.pk, translations=json.dumps({"de": "Hallo"}))
    with pytest.raises(AssertionError, match="Give a JSON object"):
        stored(root, ToolSetting, tenant=cast.acme.pk, tool="current_time", policy="on", config='["red"]')
    secrets = {"new_secrets": json.dumps({"token": "of-acme"})}
    stored(root, ToolSetting, tenant=cast.acme.pk, tool="current_time", policy="on", **secrets)
    setting = ToolSetting.objects.get(tenant=cast.acme, tool="current_time")
    assert read_secrets([setting.secrets]) == {"token": "of-acme"}
    stored(root, ToolSetting, setting.pk, clear_secrets="on")
    setting.refresh_from_db()
    assert setting.secrets == ""


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


def asked_to_switch(client: Client, *settings: ToolSetting) -> Any:
    """Choose the action that switches tools, for some rows of the list."""
    chosen = {"action": "switch", "index": "0", "_selected_action": [setting.pk for setting in settings]}
    return client.post("/admin/assistant/toolsetting/", chosen)


def switched(client: Client, *settings: ToolSetting, **values: str) -> Any:
    """Send the form of that action's page."""
    sent = {"until_0": "", "until_1": "", "reason": "", **values}
    rows = {"_selected_action": [setting.pk for setting in settings]}
    return client.post("/admin/assistant/toolsetting/switch/", sent | rows)


def test_tools_are_switched_from_their_list(cast: Cast) -> None:
    owners = (None, cast.support)
    everywhere, support = (
        ToolSetting.objects.create(tenant=cast.acme, assistant=one, tool="current_time", policy="on") for one in owners
    )
    amys = signed_in(cast.amy)
    asked = asked_to_switch(amys, everywhere, support)
    assert asked.status_code == 200
    for part in ('name="policy"', 'name="reason"', 'name="until_0"', "current_time: On (Acme)"):
        assert part in asked.content.decode()
    assert {*ToolSetting.objects.filter(tenant=cast.acme).values_list("policy", flat=True)} == {"on"}
    done = switched(amys, everywhere, support, policy="ask", reason="It runs late")
    assert done.status_code == 302
    for setting in (everywhere, support):
        setting.refresh_from_db()
        assert (setting.policy, setting.reason) == ("ask", "It runs late")
    entry = AuditEntry.objects.get(tenant=cast.acme, action="tool.switch", target="current_time")
    assert (entry.actor, entry.details["before"], entry.details["policy"]) == (cast.amy, "on", "off")
    assert "2 switches were set." in amys.get("/admin/assistant/toolsetting/").content.decode()


def test_a_switch_that_cannot_be_set_says_why(cast: Cast) -> None:
    gone = ToolSetting.objects.create(tenant=cast.acme, tool="nowhere", policy="on")
    answer = switched(signed_in(cast.amy), gone, policy="off")
    assert "this deployment has no tool" in answer.content.decode()
    ended = ToolSetting.objects.create(tenant=cast.acme, tool="plain", policy="on")
    past = {"until_0": "2020-01-01", "until_1": "00:00"}
    answer = switched(signed_in(cast.amy), ended, policy="on", reason="It runs late", **past)
    assert "the end must be in the future" in answer.content.decode()
    assert not AuditEntry.objects.filter(tenant=cast.acme, action="tool.switch").exists()


def test_another_tenants_tools_are_not_switched(cast: Cast) -> None:
    theirs = ToolSetting.objects.create(tenant=cast.globex, tool="plain", policy="on")
    amys = signed_in(cast.amy)
    assert "plain: On" not in asked_to_switch(amys, theirs).content.decode()
    assert switched(amys, theirs, policy="off").status_code == 302
    assert signed_in(cast.alice).post("/admin/assistant/toolsetting/switch/").status_code == 302
    theirs.refresh_from_db()
    assert theirs.policy == "on"


def test_who_may_not_change_tools_may_not_switch_them(cast: Cast) -> None:
    ours = ToolSetting.objects.create(tenant=cast.acme, tool="current_time", policy="on")
    cast.alice.is_staff = True
    cast.alice.save()
    assert switched(signed_in(cast.alice), ours, policy="off").status_code == 403
    assert signed_in(cast.amy).get("/admin/assistant/toolsetting/switch/").status_code == 302
    assert (
        signed_in(cast.amy).post("/admin/assistant/toolsetting/switch/", {"_selected_action": "x"}).status_code == 302
    )
    ours.refresh_from_db()
    assert ours.policy == "on"
