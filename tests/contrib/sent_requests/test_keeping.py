"""What a model was sent: kept while an operator wants it, encrypted, read on the page of its run, and erased."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.test import Client, override_settings
from django.urls import reverse
from django.utils import timezone

from assistant.client.sent_requests import MAX_BYTES, MAX_REQUESTS, SentRequest, SentRequests
from assistant.contrib.sent_requests.keeping import (
    LIFETIME,
    MAX_CONTENT,
    MAX_OF_RUN,
    keep_requests,
    keeps_requests,
    requests_of,
    store_requests,
)
from assistant.contrib.sent_requests.models import Keeping, KeptRequest
from assistant.core.llm.protocol import ModelRequest
from assistant.core.values.messages import Message
from assistant.models import AuditEntry, Job, Run, Tenant
from assistant.models.tenants import ChatReading
from assistant.providers import ScriptedModel
from assistant.services.privacy.retention import apply_retention
from assistant.services.run_key import key_of
from assistant.services.runs.extensions.added import extension_choices
from tests.base import Cast
from tests.contrib.panel.conftest import say_something
from tests.services.jobs.due_jobs import do_due_jobs

SAID = b'{"model":"m","messages":[{"role":"user","content":"zaunkoenig"}]}'


def sent(number: int = 1, content: bytes = SAID) -> SentRequest:
    return SentRequest(number, "provider", "m", content)


@pytest.fixture
def run(cast: Cast) -> Run:
    found = say_something(cast)
    store_requests(key=key_of(found, "here"), requests=[sent()])
    return found


def page_of(run: Run) -> str:
    return reverse("admin:assistant_run_change", args=[run.pk])


def tab_of(tenant: Tenant) -> str:
    return reverse("admin:assistant_tenant_requests", args=[tenant.pk])


def test_it_is_read_on_the_page_of_its_run_by_those_who_may_read_the_conversation(
    amys: Client, client: Client, cast: Cast, run: Run
) -> None:
    assert "zaunkoenig" in amys.get(page_of(run)).content.decode()
    client.force_login(cast.greta)
    assert "zaunkoenig" not in client.get(page_of(run), follow=True).content.decode()
    Tenant.objects.filter(pk=cast.acme.pk).update(chat_reading=ChatReading.OFF)
    assert "zaunkoenig" not in amys.get(page_of(run), follow=True).content.decode()


def test_it_is_encrypted(run: Run) -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT content FROM assistant_sent_requests_keptrequest")
        ((stored,),) = cursor.fetchall()
    assert "zaunkoenig" not in stored


def test_an_operator_switches_it_on_for_a_day_at_most(root: Client, cast: Cast) -> None:
    page = tab_of(cast.acme)
    assert root.post(page, {"hours": "25", "reason": "x"}).status_code == 200
    assert root.post(page, {"hours": "2", "reason": ""}).status_code == 200
    cast.acme.refresh_from_db()
    assert not keeps_requests(cast.acme)
    assert root.post(page, {"hours": "2", "reason": "Odd answers"}).status_code == 302
    cast.acme.refresh_from_db()
    assert keeps_requests(cast.acme)
    assert not keeps_requests(Tenant.objects.get(pk=cast.globex.pk))
    assert root.post(page, {"hours": "0", "reason": "Found it"}).status_code == 302
    cast.acme.refresh_from_db()
    assert not keeps_requests(cast.acme)
    entries = AuditEntry.objects.filter(tenant=cast.acme, actor=cast.root).order_by("pk")
    assert [entry.action for entry in entries] == ["requests.keep", "requests.stop"]
    assert entries[0].details["reason"] == "Odd answers"


def test_nobody_else_does(amys: Client, cast: Cast) -> None:
    for tenant in (cast.acme, cast.globex):
        assert amys.post(tab_of(tenant), {"hours": "2", "reason": "x"}).status_code == 404
    assert not Keeping.objects.exists()
    with pytest.raises(ValueError, match="0 to 24"):
        keep_requests(tenant=cast.acme, hours=25, actor=cast.root)


def test_the_extension_of_a_tenant_is_offered_to_no_assistant() -> None:
    assert "sent_requests" not in dict(extension_choices())


@override_settings(DEBUG=True)
def test_in_development_it_is_always_kept(cast: Cast) -> None:
    assert keeps_requests(cast.acme)


def test_it_is_erased_after_its_time(cast: Cast, run: Run) -> None:
    keep_requests(tenant=cast.acme, hours=1, actor=cast.root)
    KeptRequest.objects.filter(run=run).update(created_at=timezone.now() - LIFETIME - timedelta(seconds=1))
    assert requests_of(run=run) == []
    Job.objects.filter(tenant=cast.acme).update(due_at=timezone.now() - timedelta(seconds=1))
    Keeping.objects.update(until=timezone.now())
    assert do_due_jobs() == 1
    assert not KeptRequest.objects.exists()
    cast.acme.refresh_from_db()
    assert cast.acme.extensions == []


def test_retention_erases_it_too(cast: Cast, run: Run) -> None:
    KeptRequest.objects.filter(run=run).update(created_at=timezone.now() - LIFETIME - timedelta(seconds=1))
    assert apply_retention(tenant=cast.globex).get("sent requests") is None
    assert apply_retention(tenant=cast.acme)["sent requests"] == 1


def test_it_is_bounded(cast: Cast) -> None:
    run = say_something(cast)
    many: list[SentRequest] = [sent(number) for number in range(MAX_OF_RUN + 5)]
    image = b'{"url":"data:image/png;base64,' + b"A" * 400 + b'"}'
    long = b'{"a":"' + b"x" * (2 * MAX_CONTENT) + b'"}'
    store_requests(key=key_of(run, "here"), requests=[*many, sent(98, image), sent(99, long)])
    read: list[Any] = requests_of(run=run)
    assert (len(read), read[-1].number, read[-1].is_cut) == (MAX_OF_RUN, 99, True)
    assert len(read[-1].text) == MAX_CONTENT
    assert "[an image]" in read[-2].text


def test_a_turn_keeps_its_newest_requests_within_bounds() -> None:
    kept, model = SentRequests(), ScriptedModel("x")
    for _ in range(MAX_REQUESTS + 3):
        kept.add(model, ModelRequest([Message("user", "Hi")]))
    assert (len(kept), next(iter(kept)).number) == (MAX_REQUESTS, 4)
    assert next(iter(kept)).body["messages"] == [{"role": "user", "content": "Hi"}]
    for _ in range(5):
        kept.add(model, b" " * (MAX_BYTES // 4))
    assert sum(len(one.sent) for one in kept if isinstance(one.sent, bytes)) <= MAX_BYTES
