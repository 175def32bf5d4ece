"""A bundle carries a configuration from one tenant to another: nothing secret, nothing foreign, and only once."""

from __future__ import annotations

import json
from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from assistant.contrib.bundles.services.difference import Difference
from assistant.contrib.bundles.services.export import bundle_of_assistant, bundle_of_tenant, text_of
from assistant.contrib.bundles.services.format import (
    ASSISTANT_COLUMNS,
    Bundle,
    DeclaredSettingsPart,
    with_columns,
)
from assistant.contrib.bundles.services.imports import ChangedMeanwhile, ImportRefused, import_bundle, preview_import
from assistant.contrib.bundles.services.reading import read_bundle
from assistant.contrib.mcp_servers.models import McpServer
from assistant.models import (
    Assistant,
    AuditEntry,
    PromptVariable,
    PromptVersion,
    QuotaUse,
    Tenant,
    TenantLimits,
    ToolSetting,
)
from assistant.services.assistants.prompts import draft_prompt, publish_prompt
from tests.base import Cast
from tests.contrib.sub_agents.delegation import asked_by, let_ask
from tests.factories import make_assistant, make_provider, make_tenant, switch_tool

SECRET = "sk-very-secret"
# Columns of assistants that a bundle has under other names, or that are not configuration.
OTHER_COLUMNS = {"id", "tenant", "slug", "provider", "fallback_provider", "created_at", "updated_at"}


def configure(cast: Cast) -> None:
    """Give Acme one of everything that a bundle takes, and secrets that it does not."""
    acme, support = cast.acme, cast.support
    own = make_provider(acme, base_url="https://llm.example.com/v1", name="Own", api_key=SECRET)
    acme.default_provider, acme.after_untrusted, acme.shows_usage = own, "off", True
    acme.save()
    TenantLimits.objects.create(
        tenant=acme, tenant_cost_per_month=Decimal("120.50"), member_messages_per_day=30, tenant_runs=5
    )
    McpServer.objects.create(
        tenant=acme, name="files", prefix="files", url=f"https://mcp.example.com/mcp?key={SECRET}",
        headers=f'{{"Authorization": "{SECRET}"}}', context_keys=["tenant.slug"], is_active=True,
    )  # fmt: skip
    switch_tool(acme, "current_time", "ask")
    switch_tool(acme, "get_weather", "on")
    ToolSetting.objects.filter(tenant=acme, tool="get_weather").update(secrets=f'{{"key": "{SECRET}"}}')
    switch_tool(acme, "current_time", "off", assistant=support)
    helper = make_assistant(acme, "helper", prompt="You help.", provider=own, model="m-1", max_cost=Decimal("0.5"))
    let_ask(support, helper)
    Assistant.objects.filter(pk=support.pk).update(temperature=0.5, starters=["Where is my order?"])


def carry(bundle: Bundle) -> Bundle:
    """Return the bundle as another deployment reads it from its file."""
    return read_bundle(text_of(bundle).encode())


def take(cast: Cast, tenant: Tenant, **options: Any) -> Difference:
    bundle = carry(bundle_of_tenant(tenant=cast.acme))
    return import_bundle(bundle=bundle, tenant=tenant, actor=options.pop("actor", None), **options)


def test_the_file_has_no_secret_and_no_person(cast: Cast) -> None:
    configure(cast)
    text = text_of(bundle_of_tenant(tenant=Tenant.objects.get(pk=cast.acme.pk)))
    assert SECRET not in text
    assert not {name for name in ("alice", "amy", "Acme Inc", "llm.example.com") if name in text}


def test_another_tenant_gets_the_configuration(cast: Cast) -> None:
    configure(cast)
    staging = make_tenant("copy")
    make_provider(staging, base_url="https://other.example.com/v1", name="Own")
    take(cast, staging)
    staging.refresh_from_db()
    support, helper = (Assistant.objects.get(tenant=staging, slug=slug) for slug in ("support", "helper"))
    assert (staging.after_untrusted, staging.shows_usage, str(staging.default_provider)) == ("off", True, "Own")
    assert staging.default_provider.tenant == staging  # type: ignore[union-attr]
    assert TenantLimits.objects.get(tenant=staging).tenant_cost_per_month == Decimal("120.50")
    assert asked_by(support) == [helper]
    assert (support.temperature, helper.max_cost, helper.provider) == (0.5, Decimal("0.5"), staging.default_provider)
    published = PromptVersion.objects.get(assistant=support, status="published")
    assert published.text == "You are Acme's support assistant."
    policies = ToolSetting.objects.filter(tenant=staging).values_list("tool", "assistant__slug", "policy")
    assert set(policies) == {
        ("current_time", None, "ask"), ("get_weather", None, "on"), ("current_time", "support", "off"),
    }  # fmt: skip


def test_a_server_comes_without_secrets_and_switched_off(cast: Cast) -> None:
    configure(cast)
    difference = take(cast, cast.globex)
    server = McpServer.objects.get(tenant=cast.globex)
    assert (server.url, server.headers, server.is_active) == ("https://mcp.example.com/mcp", "", False)
    assert ("mcp_server", "files") in [(one.section, one.name) for one in difference.of_kind("by_hand")]


def test_importing_twice_changes_nothing(cast: Cast) -> None:
    configure(cast)
    take(cast, cast.globex)
    McpServer.objects.filter(tenant=cast.globex).update(is_active=True)
    entries = AuditEntry.objects.count()
    difference = take(cast, cast.globex)
    assert difference.is_empty
    assert AuditEntry.objects.count() == entries
    assert McpServer.objects.get(tenant=cast.globex).is_active


def test_a_tenants_own_bundle_changes_nothing(cast: Cast) -> None:
    configure(cast)
    assert take(cast, Tenant.objects.get(pk=cast.acme.pk)).is_empty
    assert SECRET in McpServer.objects.get(tenant=cast.acme).url


def test_a_preview_says_what_the_import_does_and_changes_nothing(cast: Cast) -> None:
    configure(cast)
    bundle = carry(bundle_of_tenant(tenant=cast.acme))
    before = text_of(bundle_of_tenant(tenant=cast.globex))
    entries = AuditEntry.objects.count()
    shown = preview_import(bundle=bundle, tenant=cast.globex, actor=None)
    assert text_of(bundle_of_tenant(tenant=cast.globex)) == before
    assert AuditEntry.objects.count() == entries
    assert import_bundle(bundle=bundle, tenant=cast.globex, actor=None, expected=shown.digest) == shown
    changed = {(one.section, one.name) for one in shown.of_kind("change")}
    assert {("settings", ""), ("assistant", "support")} <= changed


def test_an_import_that_would_do_something_else_than_was_shown_does_nothing(cast: Cast) -> None:
    configure(cast)
    bundle = carry(bundle_of_tenant(tenant=cast.acme))
    shown = preview_import(bundle=bundle, tenant=cast.globex, actor=None)
    Assistant.objects.filter(tenant=cast.globex).update(max_rounds=3)
    with pytest.raises(ChangedMeanwhile):
        import_bundle(bundle=bundle, tenant=cast.globex, actor=None, expected=shown.digest)
    assert not ToolSetting.objects.filter(tenant=cast.globex).exists()


def test_the_difference_has_old_and_new_values_and_what_stays(cast: Cast) -> None:
    Assistant.objects.filter(pk=cast.rival_support.pk).update(max_rounds=7)
    make_assistant(cast.globex, "own")
    difference = take(cast, cast.globex)
    (entry,) = [one for one in difference.of_kind("change") if one.section == "assistant"]
    changes = {one.name: (one.before, one.after) for one in entry.changes}
    assert changes["max_rounds"] == (7, 20)
    assert changes["prompt"][1] == "You are Acme's support assistant."
    assert [one.name for one in difference.of_kind("kept")] == ["own"]
    assert Assistant.objects.filter(tenant=cast.globex, slug="own").exists()


def test_what_is_not_here_is_left_out_and_said(cast: Cast) -> None:
    configure(cast)
    switch_tool(cast.acme, "gone_tool")
    difference = take(cast, cast.globex)
    reasons = " ".join(f"{one.section} {one.name}: {one.reason}" for one in difference.of_kind("refused"))
    assert "tool gone_tool: There is no tool of this name here" in reasons
    assert "settings default_provider: There is no provider “Own” here." in reasons
    assert "assistant helper: There is no provider “Own” here." in reasons
    assert Assistant.objects.get(tenant=cast.globex, slug="helper").provider is None


def test_one_assistant_is_carried_with_its_own_switches_alone(cast: Cast) -> None:
    configure(cast)
    bundle = carry(bundle_of_assistant(assistant=cast.support))
    difference = import_bundle(bundle=bundle, tenant=cast.globex, actor=None)
    assert {one.name for one in difference.of_kind("create", "change")} == {"support", "support: current_time"}
    assert not difference.of_kind("kept")
    assert "helper" in difference.of_kind("refused")[0].reason
    assert not TenantLimits.objects.filter(tenant=cast.globex).exists()


def test_an_admin_imports_into_their_own_tenant_what_they_may_set(cast: Cast) -> None:
    configure(cast)
    bundle = carry(bundle_of_tenant(tenant=cast.acme))
    difference = import_bundle(bundle=bundle, tenant=cast.globex, actor=cast.greta)
    limits = TenantLimits.objects.get(tenant=cast.globex)
    assert (limits.member_messages_per_day, limits.tenant_cost_per_month, limits.tenant_runs) == (30, None, None)
    assert "cost a month, runs at once" in next(
        one.reason for one in difference.of_kind("refused") if one.section == "limits"
    )


@pytest.mark.parametrize("who", ["mallory", "amy", "oscar"])
def test_others_may_not_import(cast: Cast, who: str) -> None:
    bundle = carry(bundle_of_tenant(tenant=cast.acme))
    for act in (preview_import, import_bundle):
        with pytest.raises(ImportRefused):
            act(bundle=bundle, tenant=cast.globex, actor=getattr(cast, who))


def test_changes_are_audited_with_values_but_without_texts(cast: Cast) -> None:
    configure(cast)
    QuotaUse.objects.all().delete()
    take(cast, cast.globex, actor=cast.root)
    entries = {one.target: one.details for one in AuditEntry.objects.filter(action="bundle.import", tenant=cast.globex)}
    assert entries["limits"]["values"]["tenant_cost_per_month"] == [None, "120.50"]
    assert entries["assistant support"]["values"]["temperature"] == [None, "0.5"]
    assert "Acme's support" not in str(entries)
    assert AuditEntry.objects.filter(action="tool.switch", tenant=cast.globex, actor=cast.root).count() == 3
    assert AuditEntry.objects.filter(action="prompt.publish", tenant=cast.globex).exists()
    assert not AuditEntry.objects.filter(action="bundle.import", tenant=cast.acme).exists()


def test_a_new_column_of_assistants_is_carried_or_left_out_on_purpose() -> None:
    columns = {field.name for field in Assistant._meta.concrete_fields}
    assert columns == OTHER_COLUMNS | set(ASSISTANT_COLUMNS)


def test_a_column_that_a_file_of_before_it_lacks_stays_as_it_is(cast: Cast) -> None:
    Assistant.objects.filter(pk=cast.rival_support.pk).update(max_rounds=7)
    file = json.loads(text_of(bundle_of_tenant(tenant=cast.acme)))
    del file["assistants"][0]["max_rounds"]
    import_bundle(bundle=read_bundle(json.dumps(file).encode()), tenant=cast.globex, actor=None)
    assert Assistant.objects.get(pk=cast.rival_support.pk).max_rounds == 7


def test_a_column_of_a_kind_that_bundles_do_not_know_is_refused() -> None:
    with pytest.raises(TypeError, match="Declare"):
        with_columns(DeclaredSettingsPart, Tenant, ["created_at"])


def test_an_export_makes_no_more_queries_for_more_assistants(cast: Cast) -> None:
    def count(rows: int) -> int:
        for _ in range(rows):
            one = make_assistant(cast.acme, prompt="p")
            let_ask(cast.support, one)
            switch_tool(cast.acme, "current_time", assistant=one)
        with CaptureQueriesContext(connection) as queries:
            bundle_of_tenant(tenant=Tenant.objects.get(pk=cast.acme.pk))
        return len(queries)

    assert count(1) == count(6)


def test_prompts_travel_with_their_variables(cast: Cast) -> None:
    PromptVariable.objects.create(tenant=cast.acme, name="hours", value="9 to 5")
    PromptVariable.objects.create(tenant=cast.globex, name="own", value="stays")
    publish_prompt(version=draft_prompt(assistant=cast.support, text="Open {{ hours }} and \\{{ braces"))
    assert ("variable", "hours") in {(one.section, one.name) for one in take(cast, cast.globex).of_kind("create")}
    assert take(cast, cast.globex).is_empty
    assert dict(PromptVariable.objects.filter(tenant=cast.globex).values_list("name", "value")) == {
        "hours": "9 to 5", "own": "stays"
    }  # fmt: skip
    published = cast.rival_support.prompt_versions.get(status="published")
    assert (published.text, published.uses_variables) == ("Open {{ hours }} and \\{{ braces", True)


def test_a_prompt_whose_variable_is_not_here_is_left_out_and_said(cast: Cast) -> None:
    PromptVariable.objects.create(tenant=cast.acme, name="hours", value="9 to 5")
    publish_prompt(version=draft_prompt(assistant=cast.support, text="Open {{ hours }}"))
    bundle = carry(bundle_of_assistant(assistant=cast.support))
    before = cast.rival_support.prompt_versions.get(status="published")
    (refused,) = import_bundle(bundle=bundle, tenant=cast.globex, actor=None).of_kind("refused")
    assert "{{ hours }}" in refused.reason
    assert cast.rival_support.prompt_versions.get(status="published") == before


def test_a_prompt_older_than_variables_says_the_same_there(cast: Cast) -> None:
    cast.support.prompt_versions.filter(status="published").update(text="Write {{ so }}", uses_variables=False)
    take(cast, cast.globex)
    published = cast.rival_support.prompt_versions.get(status="published")
    assert (published.text, published.uses_variables) == ("Write \\{{ so }}", True)
    assert take(cast, cast.globex).is_empty


def test_why_a_tool_is_off_travels_until_its_end(cast: Cast) -> None:
    end = timezone.now() + timedelta(hours=1)
    setting = ToolSetting.objects.create(tenant=cast.acme, tool="current_time", reason="Too slow", until=end)
    take(cast, cast.globex)
    taken = ToolSetting.objects.get(tenant=cast.globex)
    assert (taken.policy, taken.reason, taken.until) == ("on", "Too slow", end)
    assert take(cast, cast.globex).is_empty
    setting.until = timezone.now() - timedelta(hours=1)
    setting.save()
    take(cast, cast.globex)
    taken.refresh_from_db()
    assert (taken.policy, taken.reason, taken.until) == ("on", "", None)
