"""A member's page: use, limits, conversations, refusals, keys, ratings and changes, each to those who may see it."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils.safestring import SafeString, mark_safe

from assistant.contrib.panel.admin.tenants import member_sections
from assistant.models import (
    ApiKey,
    AuditEntry,
    Conversation,
    Feedback,
    Membership,
    Message,
    Run,
    Tenant,
    TenantLimits,
    ToolCall,
    UsageEntry,
)
from assistant.services.tenancy.members import create_api_key
from tests.base import Cast
from tests.contrib.panel.conftest import say_something
from tests.contrib.panel.tenants.test_custom_roles import holder

TOOL = "get_customer"


def member_of(cast: Cast) -> Membership:
    return Membership.objects.get(tenant=cast.acme, user=cast.alice)


def page_of(client: Client, cast: Cast) -> dict[str, Any]:
    answer = client.get(f"/admin/assistant/membership/{member_of(cast).pk}/change/")
    assert answer.status_code == 200
    return dict(answer.context["member"])


def text_of(client: Client, cast: Cast) -> str:
    return client.get(f"/admin/assistant/membership/{member_of(cast).pk}/change/").content.decode()


@pytest.fixture
def run(cast: Cast) -> Run:
    """A run of Alice's, with a refused call, a rating, and its cost."""
    made = say_something(cast, tool=TOOL)
    for model in (ApiKey, AuditEntry, Feedback):
        model.objects.all().delete()
    ToolCall.objects.filter(run=made).update(status="refused", rule="Off for the tenant.")
    answer = Message.objects.filter(conversation=made.conversation, role="assistant").last()
    assert answer is not None
    Feedback.objects.create(tenant=cast.acme, user=cast.alice, message=answer, rating=-1, comment="Not what I asked.")
    UsageEntry.objects.filter(run=made).delete()
    UsageEntry.objects.create(
        tenant=cast.acme, user=cast.alice, assistant=cast.support, run=made, model="m", cost=2_500_000, input_tokens=7
    )
    return made


def test_it_says_what_they_use(amys: Client, cast: Cast, run: Run) -> None:
    found = page_of(amys, cast)
    assert (found["runs"].runs, found["runs"].last_at) == (1, run.started_at)
    assert [(one.assistant, one.model, one.runs, one.tokens, one.cost) for one in found["spent"]] == [
        (cast.support.name, "m", 1, 7, 2.5)
    ]
    assert found["cost"] == 2.5


def test_the_limits_that_bind_say_whose_they_are_and_who_set_them(
    amys: Client, cast: Cast, run: Run, settings: Any
) -> None:
    settings.ASSISTANT_TENANT_LIMITS = {"messages_per_day": 50}
    TenantLimits.objects.create(tenant=cast.acme, member_messages_per_day=4)
    lines = [
        (one["whose"], one["line"].name, one["line"].used, one["line"].limit, one["set_by"])
        for one in page_of(amys, cast)["limits"]
    ]
    assert lines == [
        ("This member", "messages a day", "1", "4", "Acme"),
        ("All together", "messages a day", "1", "50", "the deployment"),
    ]


def test_it_lists_conversations_refusals_and_ratings(amys: Client, cast: Cast, run: Run) -> None:
    text = text_of(amys, cast)
    assert f"/admin/assistant/conversation/{run.conversation_id}/change/" in text
    assert "Off for the tenant." in text
    assert "Not what I asked." in text


@pytest.mark.parametrize("reading", ["reason", "off"])
def test_texts_of_conversations_that_are_restricted_are_not_shown(
    reading: str, amys: Client, cast: Cast, run: Run
) -> None:
    Conversation.objects.filter(pk=run.conversation_id).update(title="My salary")
    assert "My salary" in text_of(amys, cast)
    Tenant.objects.filter(pk=cast.acme.pk).update(chat_reading=reading)
    text = text_of(amys, cast)
    assert "My salary" not in text
    assert "Not what I asked." not in text


def test_keys_and_changes_are_those_of_the_member(amys: Client, cast: Cast) -> None:
    create_api_key(tenant=cast.acme, user=cast.alice, name="robot", scopes=["chat"])
    create_api_key(tenant=cast.acme, user=cast.amy, name="another", scopes=["chat"])
    AuditEntry.objects.create(tenant=cast.acme, actor=cast.alice, action="tool.switch", target=TOOL)
    AuditEntry.objects.create(tenant=cast.acme, actor=cast.amy, action="tool.switch", target="find_orders")
    AuditEntry.objects.create(tenant=cast.acme, actor=cast.amy, action="membership.change", target=str(member_of(cast)))
    found = page_of(amys, cast)
    assert [key.name for key, _is_good in found["api_keys"]] == ["robot"]
    assert {entry.target for entry, _title, _change in found["changes"]} == {TOOL, str(member_of(cast))}


def test_a_role_for_people_alone_sees_no_chats_spend_keys_or_changes(cast: Cast, run: Run) -> None:
    found = page_of(holder(cast, "people"), cast)
    assert set(found) == {"runs", "days", "limits", "added"}


def test_what_they_do_in_another_tenant_is_not_shown(amys: Client, cast: Cast) -> None:
    Membership.objects.create(tenant=cast.globex, user=cast.alice)
    create_api_key(tenant=cast.globex, user=cast.alice, name="elsewhere", scopes=["chat"])
    AuditEntry.objects.create(tenant=cast.globex, actor=cast.alice, action="tool.switch", target=TOOL)
    UsageEntry.objects.create(tenant=cast.globex, user=cast.alice, model="m", cost=5)
    found = page_of(amys, cast)
    assert (found["api_keys"], found["changes"], found["spent"]) == ([], [], [])


def test_a_rivals_member_has_no_page(amys: Client, cast: Cast) -> None:
    rival = Membership.objects.get(tenant=cast.globex, user=cast.mallory)
    assert amys.get(f"/admin/assistant/membership/{rival.pk}/change/").status_code == 302


def test_apps_add_sections(amys: Client, cast: Cast, monkeypatch: pytest.MonkeyPatch) -> None:
    def part(_request: object, member: Membership) -> SafeString:
        return mark_safe(f"<p>Added for {member.user_id}.</p>")

    monkeypatch.setattr(member_sections, "_added", [])
    member_sections.add_member_section(part)
    assert f"Added for {cast.alice.pk}." in text_of(amys, cast)


def test_the_page_makes_no_more_queries_for_many_rows(amys: Client, cast: Cast, run: Run) -> None:
    def count() -> int:
        with CaptureQueriesContext(connection) as queries:
            text_of(amys, cast)
        return len(queries)

    create_api_key(tenant=cast.acme, user=cast.alice, name="one", scopes=["chat"])
    count()
    few = count()
    for _ in range(12):
        made = say_something(cast, tool=TOOL)
        ToolCall.objects.filter(run=made).update(status="refused")
        create_api_key(tenant=cast.acme, user=cast.alice, name="more", scopes=["chat"])
    assert ApiKey.objects.count() == 13
    assert count() == few <= 42
