"""What is written down to be sent: of which event, with what it tells of, for whom, and without a word of the talk."""

from __future__ import annotations

import json
import uuid
from dataclasses import replace

import pytest
from django.db import transaction

from assistant.contrib.webhooks.models import WebhookDelivery
from assistant.contrib.webhooks.services.events import record_event
from assistant.models import Provider, Run
from assistant.services.runs.closing import Ending, close_run
from assistant.services.runs.leases import LostRun
from assistant.services.runs.opening.run_setup import OpenedRun
from assistant.services.tenancy.members import find_member
from assistant.services.tenant_events import QUOTA_REACHED, TOOL_INCIDENT, run_url
from tests.api.calling import Caller
from tests.base import Cast
from tests.contrib.webhooks.hooks import hook
from tests.factories import switch_tool
from tests.fake_provider import FakeProvider
from tests.live import Server
from tests.services.runs.test_opening import FINISHED, begin
from tests.websocket.test_websocket import in_db
from tests.ws import open_socket

pytestmark = pytest.mark.django_db(transaction=True)
URL = "https://hooks.example.com/"


def opened_by_alice(cast: Cast) -> OpenedRun:
    member = find_member(user_id=cast.alice.pk, tenant_slug="acme")
    assert member is not None
    return begin(member, uuid.uuid4(), "run-1")


def told() -> dict[str, object]:
    body: dict[str, object] = json.loads(WebhookDelivery.objects.get().body)
    return body


@pytest.mark.parametrize(("has_own", "is_active"), [(True, True), (True, False), (False, True)])
def test_a_run_knows_from_its_beginning_whether_anybody_may_want_to_be_told(
    cast: Cast, has_own: bool, is_active: bool
) -> None:
    hook(cast.acme if has_own else cast.globex, URL, is_active=is_active)
    setup = opened_by_alice(cast).setup
    assert setup is not None
    assert setup.is_heard is (has_own and is_active)


def test_the_conversation_has_the_id_that_its_member_knows(cast: Cast) -> None:
    hook(cast.acme, URL)
    opened = opened_by_alice(cast)
    chosen = str(uuid.uuid4())
    close_run(key=replace(opened.key, client_thread=chosen), messages=[], usage={}, ending=FINISHED, last_seq=2)
    data = told()["data"]
    assert isinstance(data, dict) and data["conversation"] == chosen


def test_a_runs_end_is_told_in_ids_and_kinds(cast: Cast) -> None:
    webhook = hook(cast.acme, URL)
    hook(cast.acme, URL, is_active=False)
    hook(cast.acme, URL, events=[TOOL_INCIDENT])
    hook(cast.globex, URL)
    opened = opened_by_alice(cast)
    close_run(key=opened.key, messages=[], usage={}, ending=FINISHED, last_seq=2)
    row = WebhookDelivery.objects.get()
    assert (row.webhook, row.tenant, row.status) == (webhook, cast.acme, "pending")
    body = told()
    assert body["type"] == "run.finished"
    assert body["data"] == {
        "tenant": "acme", "run": "run-1", "conversation": opened.key.thread, "assistant": "support",
        "user": cast.alice.pk, "status": "finished", "url": "/api/v1/tenants/acme/runs/run-1/",
        "error_code": "", "input_tokens": 0, "output_tokens": 0,
    }  # fmt: skip


def test_nobody_is_told_of_a_test_whose_process_died(cast: Cast) -> None:
    hook(cast.acme, URL)
    opened = opened_by_alice(cast)
    Run.objects.update(is_test=True)
    # As recovery does, which knows no setup.
    close_run(key=opened.key, messages=[], usage={}, ending=FINISHED, last_seq=2)
    assert not WebhookDelivery.objects.exists()


def test_a_run_and_its_message_are_stored_together_or_not_at_all(cast: Cast) -> None:
    hook(cast.acme, URL)
    opened = opened_by_alice(cast)
    with pytest.raises(ZeroDivisionError), transaction.atomic():
        close_run(key=opened.key, messages=[], usage={}, ending=FINISHED, last_seq=2)
        assert WebhookDelivery.objects.exists()
        raise ZeroDivisionError
    assert not WebhookDelivery.objects.exists()
    assert Run.objects.get().status == "running"
    with pytest.raises(LostRun):
        close_run(key=replace(opened.key, owner="another"), messages=[], usage={}, ending=FINISHED, last_seq=2)
    assert not WebhookDelivery.objects.exists()


def test_what_is_told_twice_is_one_message(cast: Cast) -> None:
    hook(cast.acme, URL)
    for _ in range(2):
        record_event(tenant_id=cast.acme.pk, event=QUOTA_REACHED, data={}, event_key="key 1 of today")
    assert WebhookDelivery.objects.count() == 1
    record_event(tenant_id=cast.acme.pk, event=QUOTA_REACHED, data={}, event_key="key 1 of tomorrow")
    assert WebhookDelivery.objects.count() == 2


@pytest.mark.parametrize("status", ["failed", "cancelled", "interrupted"])
def test_a_run_that_did_not_end_well_is_told_as_such(status: str, cast: Cast) -> None:
    hook(cast.acme, URL)
    ending = Ending(status, {"type": "RUN_ERROR"}, "provider_error", "The provider said: a secret.")
    close_run(key=opened_by_alice(cast).key, messages=[], usage={}, ending=ending, last_seq=2)
    body = told()
    assert isinstance(body["data"], dict)
    assert (body["data"]["status"], body["data"]["error_code"]) == (status, "provider_error")
    assert "a secret" not in str(body)


@pytest.mark.parametrize("run_id", ["a/b", "../x", "a?b#c", "%2F"])
def test_an_id_cannot_change_the_address_it_stands_in(run_id: str) -> None:
    url = run_url(tenant="acme", run_id=run_id)
    assert url.startswith("/api/v1/tenants/acme/runs/")
    assert url.count("/") == 7


async def test_a_run_that_waits_wants_an_approval(
    uvicorn_server: Server, cast: Cast, provider: Provider, fake_provider: FakeProvider
) -> None:
    await in_db(hook)(cast.acme, URL)
    await in_db(switch_tool)(cast.acme, "calculate", "ask")
    fake_provider.call("calculate", {"expression": "6*7000"})
    async with open_socket(uvicorn_server.url, user=cast.alice) as socket:
        frames = await socket.ask("How much is six times seven thousand?")
    body = await in_db(told)()
    assert body["type"] == "approval.wanted"
    assert isinstance(body["data"], dict)
    (call,) = frames[-1]["outcome"]["interrupts"]
    assert body["data"]["calls"] == [{"id": call["toolCallId"], "tool": "calculate"}]
    assert "7000" not in str(body) and "thousand" not in str(body)
    assert body["data"]["run"] == frames[0]["runId"]
    alice = await in_db(Caller)(cast.acme, cast.alice)
    answer = await in_db(alice.get)("approvals/")
    assert [one["call_id"] for one in answer.json()] == [call["toolCallId"]]
