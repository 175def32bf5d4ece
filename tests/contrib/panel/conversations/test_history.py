"""Runs, conversations and tool calls link to each other, and are read-only."""

from __future__ import annotations

import pytest
from django.test import Client
from django.urls import reverse

from assistant.models import Feedback, Message, Run, ToolCall, UsageEntry
from tests.base import Cast
from tests.contrib.panel.conftest import say_something

MODELS = ("conversation", "message", "run", "toolcall", "usageentry", "feedback", "auditentry")


def test_a_run_links_to_its_conversation_and_tool_calls(amys: Client, cast: Cast) -> None:
    run = say_something(cast)
    page = amys.get(reverse("admin:assistant_run_change", args=[run.pk])).content.decode()
    assert reverse("admin:assistant_conversation_change", args=[run.conversation_id]) in page
    assert f"run__id__exact={run.pk}" in page
    calls = amys.get(reverse("admin:assistant_toolcall_changelist"), {"run__id__exact": run.pk})
    assert "1 tool call" in calls.content.decode()


def test_a_conversation_shows_its_messages_and_links_to_its_runs(amys: Client, cast: Cast) -> None:
    run = say_something(cast)
    page = amys.get(reverse("admin:assistant_conversation_change", args=[run.conversation_id])).content.decode()
    assert "When do you open?" in page
    assert "At nine." in page
    assert reverse("admin:assistant_run_change", args=[run.pk]) in page


@pytest.mark.parametrize(
    ("model", "filters"),
    [
        ("run", "conversation__id__exact"),
        ("message", "conversation__id__exact"),
        ("toolcall", "run__conversation__id__exact"),
    ],
)
def test_the_links_of_a_conversation_filter_their_lists(amys: Client, cast: Cast, model: str, filters: str) -> None:
    run = say_something(cast)
    url = reverse(f"admin:assistant_{model}_changelist")
    assert amys.get(url, {filters: run.conversation_id}).status_code == 200
    empty = amys.get(url, {filters: "00000000-0000-0000-0000-000000000000"})
    assert "0 " in empty.content.decode()


@pytest.mark.parametrize("model", MODELS)
def test_history_is_read_only(root: Client, cast: Cast, model: str) -> None:
    say_something(cast)
    row = {"message": Message, "run": Run, "toolcall": ToolCall, "usageentry": UsageEntry, "feedback": Feedback}.get(
        model
    )
    pk = row._default_manager.first().pk if row else 1  # type: ignore[union-attr]
    base = f"/admin/assistant/{model}/"
    assert root.post(f"{base}add/").status_code == 403
    if row is not None:
        assert root.post(f"{base}{pk}/change/", {"status": "x"}).status_code == 403
        assert root.post(f"{base}{pk}/delete/", {"post": "yes"}).status_code == 403


def test_model_text_is_escaped(amys: Client, cast: Cast) -> None:
    run = say_something(cast)
    Message.objects.filter(conversation=run.conversation).update(content="<img src=x onerror=alert(1)>")
    ToolCall.objects.update(arguments="<b>not json", result='{"a": "<script>"}')
    call = ToolCall.objects.get()
    for name, pk in (("conversation", run.conversation_id), ("toolcall", call.pk)):
        page = amys.get(reverse(f"admin:assistant_{name}_change", args=[pk])).content.decode()
        assert "<img src=x" not in page
        assert "<b>not json" not in page
        assert '"<script>"' not in page


def test_a_tenants_admin_deletes_no_history_along_with_an_assistant(amys: Client, cast: Cast) -> None:
    say_something(cast)
    amys.post(f"/admin/assistant/assistant/{cast.support.pk}/delete/", {"post": "yes"})
    assert Run.objects.exists()
