"""The policy function: each layer alone and combined with the others."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from django.contrib.auth.models import Group, Permission
from django.contrib.contenttypes.models import ContentType
from django.db import connection
from django.test.utils import CaptureQueriesContext
from pydantic import BaseModel

from assistant.core.values.messages import ToolCall
from assistant.models import Membership, ToolSetting
from assistant.services.db.threads import in_database
from assistant.services.toolpolicy import catalogue
from assistant.services.toolpolicy.policy import EffectiveTool, decide, effective_tools
from assistant.services.toolpolicy.switch_query import Switch
from assistant.services.toolpolicy.toolset import TenantToolset
from assistant.toolkit import Registry, Tool, tool
from tests.base import Cast, make_cast
from tests.factories import switch_tool


class Limits(BaseModel):
    """The settings of the billing tool."""

    ceiling: int
    currency: str = "EUR"


@tool
def plain() -> str:
    """Do something plain."""
    return "done"


@tool(enabled_by_default=True)
def eager() -> str:
    """Do something that is on from the start."""
    return "done"


@tool(permission="auth.view_user")
def guarded() -> str:
    """Do something that only some may do."""
    return "done"


@tool(requires_approval=True)
def careful() -> str:
    """Do something that a person agrees to."""
    return "done"


@tool(config=Limits)
def billing() -> str:
    """Bill something."""
    return "done"


@pytest.fixture
def tools() -> Iterator[None]:
    """Make this file's tools the catalogue."""
    with catalogue.using(Registry([plain, eager, guarded, careful, billing])):
        yield


ON, ASK, OFF = Switch("on"), Switch("ask"), Switch("off")


@pytest.mark.parametrize(
    ("a_tool", "tenant", "assistant", "given", "policy", "layer"),
    [
        (None, ON, ON, {}, "off", "catalogue"),
        (plain, None, None, {}, "off", "tenant"),
        (eager, None, None, {}, "on", "catalogue"),
        (plain, ON, None, {}, "on", "tenant"),
        (plain, ASK, None, {}, "ask", "tenant"),
        (eager, OFF, None, {}, "off", "tenant"),
        (plain, ON, ON, {}, "on", "assistant"),
        (plain, ON, ASK, {}, "ask", "assistant"),
        (plain, ON, OFF, {}, "off", "assistant"),
        (plain, ASK, ON, {}, "ask", "tenant"),
        (plain, ASK, OFF, {}, "off", "assistant"),
        (plain, OFF, ON, {}, "off", "tenant"),
        (plain, None, ON, {}, "off", "tenant"),
        (eager, None, ASK, {}, "ask", "assistant"),
        (careful, ON, ON, {}, "ask", "tool"),
        (careful, ON, OFF, {}, "off", "assistant"),
        (guarded, ON, ON, {"has_permission": True}, "on", "assistant"),
        (guarded, ASK, ON, {"has_permission": False}, "off", "user"),
        (plain, ON, ON, {"has_permission": False}, "on", "assistant"),
        (plain, ON, None, {"narrowing": {"plain"}}, "on", "tenant"),
        (plain, ASK, None, {"narrowing": {"eager"}}, "off", "client"),
        (plain, ON, None, {"narrowing": set()}, "off", "client"),
        (plain, OFF, None, {"narrowing": {"plain"}}, "off", "tenant"),
        (billing, ON, None, {}, "off", "settings"),
        (billing, Switch("on", {"ceiling": 5}), None, {}, "on", "tenant"),
        (billing, Switch("ask", {"ceiling": "much"}), None, {}, "off", "settings"),
        (billing, Switch("on", {"ceiling": "much"}), Switch("on", {"ceiling": 5}), {}, "on", "assistant"),
        (plain, Switch("on", secrets="no json"), None, {}, "off", "settings"),
    ],
)
def test_off_beats_ask_beats_on_and_the_layer_that_decided_is_named(
    a_tool: Tool | None,
    tenant: Switch | None,
    assistant: Switch | None,
    given: dict[str, object],
    policy: str,
    layer: str,
) -> None:
    decision = decide(a_tool, tenant=tenant, assistant=assistant, **given)  # type: ignore[arg-type]
    assert (decision.policy, decision.layer) == (policy, layer)
    assert decision.rule.endswith(".")


def effective(cast: Cast, name: str, *, user: object = None) -> EffectiveTool:
    who = user or cast.alice
    found = effective_tools(tenant_id=cast.acme.pk, user_id=who.pk, assistant_id=cast.support.pk)  # type: ignore[attr-defined]
    return next(entry for entry in found if entry.tool.name == name)


def test_a_tenants_switch_does_not_affect_another_tenant(cast: Cast, tools: None) -> None:
    switch_tool(cast.globex, "plain", "on")
    assert effective(cast, "plain").policy == "off"


def test_an_assistants_switch_narrows_its_tenants(cast: Cast, tools: None) -> None:
    switch_tool(cast.acme, "plain", "on")
    switch_tool(cast.acme, "plain", "ask", assistant=cast.support)
    assert (effective(cast, "plain").policy, effective(cast, "plain").rule) == (
        "ask",
        "Set to ask first for this assistant.",
    )


def test_an_assistant_of_another_tenant_gets_nothing(cast: Cast, tools: None) -> None:
    found = effective_tools(tenant_id=cast.acme.pk, user_id=cast.alice.pk, assistant_id=cast.rival_support.pk)
    assert {entry.policy for entry in found} == {"off"}


def test_permissions_of_the_user_and_of_groups_count(cast: Cast, tools: None) -> None:
    switch_tool(cast.acme, "guarded", "on")
    assert effective(cast, "guarded").policy == "off"
    group = Group.objects.create(name="viewers")
    kind = ContentType.objects.get(app_label="auth", model="user")
    group.permissions.add(Permission.objects.get(content_type=kind, codename="view_user"))
    cast.alice.groups.add(group)
    assert effective(cast, "guarded").policy == "on"


def test_a_superuser_holds_every_permission(cast: Cast, tools: None) -> None:
    switch_tool(cast.acme, "guarded", "on")
    Membership.objects.create(tenant=cast.acme, user=cast.root)
    assert effective(cast, "guarded", user=cast.root).policy == "on"


@pytest.mark.parametrize("gone", ["membership", "tenant", "user", "assistant"])
def test_all_tools_are_off_if_the_member_tenant_or_assistant_is_not_active(cast: Cast, tools: None, gone: str) -> None:
    switch_tool(cast.acme, "plain", "on")
    if gone == "membership":
        Membership.objects.filter(user=cast.alice).delete()
    else:
        row = {"tenant": cast.acme, "user": cast.alice, "assistant": cast.support}[gone]
        row.is_active = False
        row.save()
    assert effective(cast, "plain").policy == "off"


def test_the_assistants_settings_and_secrets_override_the_tenants(cast: Cast, tools: None) -> None:
    ToolSetting.objects.create(
        tenant=cast.acme, tool="billing", config={"ceiling": 1, "currency": "USD"}, secrets='{"a": "1", "b": "2"}'
    )
    ToolSetting.objects.create(
        tenant=cast.acme, assistant=cast.support, tool="billing", config={"ceiling": 9}, secrets='{"b": "3"}'
    )
    entry = effective(cast, "billing")
    assert entry.config == Limits(ceiling=9, currency="USD")
    assert entry.secrets == {"a": "1", "b": "3"}


def test_secrets_may_be_given_as_a_mapping(cast: Cast, tools: None) -> None:
    ToolSetting.objects.create(tenant=cast.acme, tool="billing", config={"ceiling": 1}, secrets={"a": "é1"})
    assert effective(cast, "billing").secrets == {"a": "é1"}


def test_secrets_never_show(cast: Cast, tools: None) -> None:
    ToolSetting.objects.create(tenant=cast.acme, tool="plain", secrets='{"token": "canary-8831"}')
    assert "canary-8831" not in repr(effective(cast, "plain"))


def test_a_tool_that_is_off_gets_no_secrets(cast: Cast, tools: None) -> None:
    ToolSetting.objects.create(tenant=cast.acme, tool="plain", policy="off", secrets='{"token": "canary-8831"}')
    assert effective(cast, "plain").secrets == {}


def test_errors_in_settings_are_named_without_values(cast: Cast, tools: None) -> None:
    ToolSetting.objects.create(tenant=cast.acme, tool="billing", config={"ceiling": "canary-8831"})
    entry = effective(cast, "billing")
    assert entry.policy == "off"
    assert "ceiling" in entry.rule
    assert "canary" not in entry.rule


def test_two_queries_decide_all_tools(cast: Cast, tools: None) -> None:
    for name in ("plain", "guarded", "careful"):
        switch_tool(cast.acme, name, "on")
        switch_tool(cast.acme, name, "on", assistant=cast.support)
    with CaptureQueriesContext(connection) as queries:
        effective(cast, "plain")
    assert len(queries) == 2


@pytest.mark.django_db(transaction=True)
async def test_a_switch_applies_to_the_next_call_of_a_running_run(tools: None) -> None:
    cast = await in_database(make_cast)
    await in_database(switch_tool, cast.acme, "plain", "on")
    run = TenantToolset(tenant_id=cast.acme.pk, user_id=cast.alice.pk, assistant_id=cast.support.pk)
    assert "plain" in [entry.name for entry in await run.offered()]
    await in_database(switch_tool, cast.acme, "plain", "off")
    (admission,) = await run.admit([ToolCall("1", "plain", "{}")])
    assert (admission.policy, admission.rule) == ("off", "Switched off for the tenant.")
    assert admission.callable_names == ("eager",)


async def test_the_first_offer_needs_no_query() -> None:
    given = [EffectiveTool(plain, "on", ""), EffectiveTool(eager, "ask", ""), EffectiveTool(careful, "off", "")]
    run = TenantToolset(tenant_id=1, user_id=1, assistant_id=1, initial=given)
    assert [entry.name for entry in await run.offered()] == ["plain", "eager"]


@pytest.mark.django_db(transaction=True)
async def test_a_call_of_an_unknown_tool_lists_the_known_tools(tools: None) -> None:
    cast = await in_database(make_cast)
    run = TenantToolset(tenant_id=cast.acme.pk, user_id=cast.alice.pk, assistant_id=cast.support.pk)
    (admission,) = await run.admit([ToolCall("1", "made_up", "{}")])
    assert (admission.tool, admission.callable_names) == (None, ("eager",))
