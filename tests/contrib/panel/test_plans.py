"""Operators' lists of all tenants are read in the order of an index, and a search for words reads no run."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import connection
from django.db.models import QuerySet
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from assistant.contrib.panel.reports.tenants import tenant_reports
from assistant.models import AuditEntry, Conversation, Feedback, Run, Tenant
from tests.base import Cast
from tests.contrib.panel.conftest import say_something

pytestmark = [pytest.mark.django_db, pytest.mark.once]


def statements(client: Client, text: str) -> list[str]:
    with CaptureQueriesContext(connection) as queries:
        assert client.get("/admin/search/", {"q": text}).status_code == 200
    return [query["sql"] for query in queries.captured_queries]


@pytest.mark.parametrize(
    ("rows", "index"),
    [
        (Conversation.objects.order_by("-updated_at"), "conversations_by_age"),
        (Feedback.objects.order_by("-created_at"), "feedback_by_age"),
        (AuditEntry.objects.order_by("-created_at"), "audit_by_age"),
        (Run.objects.filter(tenant=1, api_key=1, ended_at__isnull=False).order_by("-started_at"), "runs_of_an_api_key"),
    ],
)
def test_the_newest_of_all_tenants_are_read_from_an_index(rows: QuerySet[Any], index: str) -> None:
    assert index in rows[:50].explain()


def test_a_search_for_words_reads_no_run_and_no_call(root: Client, cast: Cast) -> None:
    say_something(cast)
    read = [sql for sql in statements(root, "opening") if 'FROM "assistant_run"' in sql or "toolcall" in sql]
    assert read == []


def test_an_id_is_looked_for_without_an_order_that_leads_through_all_rows(root: Client, cast: Cast) -> None:
    run = say_something(cast)
    first = next(sql for sql in statements(root, run.run_id) if 'FROM "assistant_run"' in sql)
    assert "ORDER BY" not in first


def test_the_last_run_of_a_tenant_is_the_first_of_an_index(cast: Cast) -> None:
    run = say_something(cast)
    tenants = list(Tenant.objects.select_related("limits").filter(pk=cast.acme.pk))
    with CaptureQueriesContext(connection) as queries:
        assert tenant_reports(tenants=tenants, now=timezone.now())[cast.acme.pk].last_run_at == run.started_at
    assert not any("MAX(" in query["sql"] for query in queries.captured_queries)


def test_calls_of_a_conversations_runs_are_read_without_an_or(root: Client, cast: Cast) -> None:
    run = say_something(cast)
    timeline = {"calls": [{"id": "c1", "name": "current_time", "at": 0, "ms": 1, "status": "ok"}]}
    Run.objects.filter(pk=run.pk).update(timeline=timeline)
    for page in (f"conversation/{run.conversation_id}/change/", f"run/{run.pk}/change/"):
        with CaptureQueriesContext(connection) as queries:
            assert root.get(f"/admin/assistant/{page}").status_code == 200
        calls = [query["sql"] for query in queries.captured_queries if 'FROM "assistant_toolcall"' in query["sql"]]
        assert len(calls) > 1
        assert not any(" OR " in sql for sql in calls)
