"""One page makes a tenant with owner, assistant, prompt, tools and limits, or as a copy of another."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client
from pytest_django.fixtures import Settings

from assistant.contrib.invitations.models import Invitation
from assistant.contrib.mcp_servers.models import McpServer
from assistant.contrib.panel.admin.tenants import inviting
from assistant.models import (
    Assistant,
    AuditEntry,
    Membership,
    PromptVariable,
    PromptVersion,
    Retention,
    Tenant,
    TenantLimits,
    ToolSetting,
)
from assistant.services.assistants.configuration import prompt_of, with_prompt
from assistant.services.assistants.prompt_values import PromptValues
from assistant.services.assistants.prompts import draft_prompt, publish_prompt
from assistant.services.toolpolicy import catalogue
from tests.base import Cast
from tests.contrib.sub_agents.delegation import asked_by, let_ask
from tests.factories import make_assistant, make_provider, switch_tool

PAGE = "/admin/assistant/tenant/add/"
TOOLS = ["calculate", "current_time", "search_docs"]


def form(**fields: object) -> dict[str, object]:
    first = {"assistant": "Help Desk", "prompt": "Be brief.", "tools": TOOLS}
    return {"name": "Initech & Sons", "owner": "oscar", "timezone": "Europe/Vienna", **first, **fields}


def make(client: Client, **fields: object) -> Tenant:
    answer = client.post(PAGE, form(**fields))
    assert answer.status_code == 302, answer.context["form"].errors
    return Tenant.objects.latest("pk")


def errors(client: Client, **fields: object) -> dict[str, Any]:
    answer: Any = client.post(PAGE, form(**fields))
    assert answer.status_code == 200
    assert not Tenant.objects.filter(name="Initech & Sons").exists()
    return dict(answer.context["form"].errors)


def test_a_tenant_is_ready_in_one_step(root: Client, cast: Cast) -> None:
    tenant = make(root, tenant_messages_per_day="100", tenant_cost_per_month="9.5")
    assert (tenant.slug, tenant.timezone, tenant.is_active) == ("initech-sons", "Europe/Vienna", True)
    assert Membership.objects.get(tenant=tenant).user == cast.oscar
    assistant = Assistant.objects.get(tenant=tenant)
    prompt = PromptVersion.objects.get(assistant=assistant)
    assert (assistant.slug, prompt.text, prompt.status) == ("help-desk", "Be brief.", "published")
    on = ToolSetting.objects.filter(tenant=tenant, policy="on", assistant=None)
    assert sorted(on.values_list("tool", flat=True)) == TOOLS
    limits = TenantLimits.objects.get(tenant=tenant)
    assert (limits.tenant_messages_per_day, float(limits.tenant_cost_per_month or 0)) == (100, 9.5)
    made = set(AuditEntry.objects.filter(tenant=tenant, actor=cast.root).values_list("action", flat=True))
    assert made >= {"tenant.add", "membership.add", "assistant.add", "prompt.publish", "tool.switch", "limits.set"}


def test_a_tool_that_is_on_by_default_is_off_if_it_is_not_chosen(root: Client, cast: Cast) -> None:
    defaults = {tool.name for tool in catalogue.registry() if tool.enabled_by_default}
    tenant = make(root, tools=[])
    assert set(ToolSetting.objects.filter(tenant=tenant, policy="off").values_list("tool", flat=True)) == defaults
    assert not ToolSetting.objects.filter(tenant=tenant).exclude(policy="off").exists()


def test_an_owner_without_an_account_is_invited(root: Client, cast: Cast) -> None:
    answer = root.post(PAGE, form(owner="olga@example.com"), follow=True)
    tenant = Tenant.objects.get(slug="initech-sons")
    invitation = Invitation.objects.get(tenant=tenant)
    assert (invitation.email, invitation.role) == ("olga@example.com", "owner")
    assert answer.redirect_chain == [(f"/admin/assistant/tenant/{tenant.pk}/people/", 302)]
    assert "/accounts/invitation/?token=" in answer.content.decode()


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("name", ""), ("name", "日本"), ("slug", "acme"), ("slug", "no slug"), ("owner", "nobody"),
        ("owner", "not@an@address"), ("timezone", "Mars"), ("assistant", " "), ("prompt", ""),
        ("prompt", "x" * 100_001), ("tools", ["no_such_tool"]), ("tenant_cost_per_month", "-1"),
        ("tenant_messages_per_day", "9" * 30), ("copy_of", "nothing"),
    ],
)  # fmt: skip
def test_a_wrong_value_is_a_form_error_and_makes_nothing(root: Client, cast: Cast, field: str, value: object) -> None:
    assert set(errors(root, **{field: value})) == {"slug" if value == "日本" else field}


def test_a_first_prompt_names_only_variables_that_every_tenant_has(root: Client, cast: Cast) -> None:
    assert "{{ hours }}" in str(errors(root, prompt="Open {{ hours }}."))
    assert Tenant.objects.count() == 2


def test_nobody_is_invited_where_invitations_are_off(root: Client, cast: Cast, settings: Settings) -> None:
    settings.ASSISTANT_INVITATION_DAYS = 0
    assert set(errors(root, owner="olga@example.com")) == {"owner"}


def test_without_the_app_of_invitations_nobody_is_invited(
    root: Client, cast: Cast, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(inviting, "_inviting", [])
    assert "Nobody has this user name." in str(errors(root, owner="olga@example.com")["owner"])
    assert "invite" not in root.get(PAGE).content.decode()
    assert "nvit" not in root.get(f"/admin/assistant/tenant/{cast.acme.pk}/people/").content.decode()


def test_only_operators_make_tenants(amys: Client, cast: Cast) -> None:
    assert amys.get(PAGE).status_code == amys.post(PAGE, form()).status_code == 403
    assert Tenant.objects.count() == 2


def test_the_form_needs_the_csrf_token(cast: Cast) -> None:
    strict = Client(enforce_csrf_checks=True)
    strict.force_login(cast.root)
    assert strict.post(PAGE, form()).status_code == 403


def full_acme(cast: Cast) -> None:
    """Give Acme all that a copy takes, and all that it must leave."""
    own = make_provider(cast.acme, base_url="https://own.example.com", api_key="sk-canary")
    house = make_provider(None, base_url="https://house.example.com")
    expert = make_assistant(cast.acme, "expert", prompt="You know more.", provider=own, max_rounds=3)
    cast.support.provider = house
    cast.support.save()
    let_ask(cast.support, expert)
    Tenant.objects.filter(pk=cast.acme.pk).update(after_untrusted="off", default_provider=own)
    switch_tool(cast.acme, "calculate")
    secret = switch_tool(cast.acme, "get_weather", "ask", assistant=expert)
    secret.secrets, secret.config = '{"token": "canary"}', {"unit": "K"}
    secret.save()
    switch_tool(cast.acme, "crm__lookup")
    McpServer.objects.create(tenant=cast.acme, name="crm", prefix="crm", url="https://mcp.example.com")
    own = make_provider(cast.acme, base_url="https://llm.example.com/v1")
    soft = {"soft_percent": 80, "soft_provider": own}
    TenantLimits.objects.create(tenant=cast.acme, tenant_messages_per_day=7, **soft)
    Retention.objects.create(tenant=cast.acme, audit=30)


def test_a_copy_has_the_configuration_of_another_tenant(root: Client, cast: Cast) -> None:
    full_acme(cast)
    copy = make(root, copy_of="acme", prompt="", tools=[])
    support, expert = (Assistant.objects.get(tenant=copy, slug=slug) for slug in ("support", "expert"))
    assert (expert.max_rounds, asked_by(support)) == (3, [expert])
    texts = PromptVersion.objects.filter(assistant__tenant=copy, status="published").order_by("text")
    assert list(texts.values_list("text", flat=True)) == ["You are Acme's support assistant.", "You know more."]
    settings = ToolSetting.objects.filter(tenant=copy).order_by("tool")
    assert [(row.tool, row.policy, row.assistant, row.config) for row in settings] == [
        ("calculate", "on", None, {}), ("get_weather", "ask", expert, {"unit": "K"}),
    ]  # fmt: skip
    assert (copy.after_untrusted, copy.limits.tenant_messages_per_day, copy.retention.audit) == ("off", 7, 30)
    assert AuditEntry.objects.get(action="tenant.copy").details["from"] == "acme"


def test_a_copy_has_the_variables_and_says_the_same(root: Client, cast: Cast) -> None:
    PromptVariable.objects.create(tenant=cast.acme, name="hours", value="nine to five")
    PromptVersion.objects.filter(assistant=cast.support).update(text="{{ hours }} is no variable here.")
    expert = make_assistant(cast.acme, "expert")
    publish_prompt(version=draft_prompt(assistant=expert, text="Open {{ hours }}.", label="before sale"))
    copy = make(root, copy_of="acme")
    assert list(copy.prompt_variables.values_list("name", "value")) == [("hours", "nine to five")]
    (owner,) = Membership.objects.filter(tenant=copy)
    values = PromptValues(tenant=copy, user_id=owner.user_id)
    prompts = {one.slug: prompt_of(one, lambda: values) for one in with_prompt(Assistant.objects.filter(tenant=copy))}
    assert prompts == {"support": "{{ hours }} is no variable here.", "expert": "Open nine to five."}


def test_a_copy_has_no_secrets_no_people_and_no_providers_of_the_other(root: Client, cast: Cast) -> None:
    full_acme(cast)
    copy = make(root, copy_of="acme")
    assert [row.secrets for row in ToolSetting.objects.filter(tenant=copy)] == ["", ""]
    assert [row.user for row in Membership.objects.filter(tenant=copy)] == [cast.oscar]
    providers = {row.slug: row.provider for row in Assistant.objects.filter(tenant=copy)}
    assert (providers["expert"], providers["support"] == cast.support.provider) == (None, True)
    assert (copy.default_provider, copy.providers.count()) == (None, 0)
    limits = copy.limits
    assert (limits.soft_percent, limits.soft_provider, limits.tenant_messages_per_day) == (None, None, 7)
    assert not McpServer.objects.filter(tenant=copy).exists()


def test_a_copy_leaves_the_other_tenant_as_it_is(root: Client, cast: Cast) -> None:
    full_acme(cast)
    before = list(Assistant.objects.filter(tenant=cast.acme).values()), list(cast.acme.tool_settings.values())
    make(root, copy_of="acme")
    assert before == (
        list(Assistant.objects.filter(tenant=cast.acme).values()), list(cast.acme.tool_settings.values()),
    )  # fmt: skip
    expert = Assistant.objects.get(tenant=cast.acme, slug="expert")
    assert asked_by(cast.support) == [expert]
