"""How receipts are counted, for Prometheus and webhooks, and what keeps, exports and deletes them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from io import BytesIO
from zipfile import ZipFile

import pytest
from prometheus_client import REGISTRY

from assistant.contrib.data_exports.exports import export_tenant, export_user
from assistant.contrib.receipts.models import Receipt
from assistant.contrib.receipts.services import tying
from assistant.contrib.receipts.services.reading import shown_receipts
from assistant.contrib.webhooks.models import WebhookDelivery
from assistant.models import Assistant, Conversation, Retention, Run, Tenant
from assistant.services.conversations.conversations import delete_conversation
from assistant.services.privacy.erasure import erase_user
from assistant.services.privacy.retention import apply_retention
from assistant.services.tenancy.members import Member, find_member
from assistant.services.toolpolicy import catalogue
from assistant.testing import ChatTester, answer_with
from assistant.testing.scripted import ScriptedModel
from assistant.toolkit.registry import Registry
from tests.base import Cast
from tests.contrib.receipts.test_receipts import fails, get_parcel, parcel
from tests.contrib.webhooks.hooks import hook
from tests.factories import switch_tool
from tests.services.privacy.test_retention import age

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("provider")]
SAID = "It weighs 12.5 kg, or 13.9. I have cancelled it."
COUNTS = {"values": 2, "unsupported": 1, "unsupported_actions": 1}


@pytest.fixture(autouse=True)
def _tools(cast: Cast) -> Iterator[None]:
    Assistant.objects.update(extensions=["receipts"])
    for tenant in (cast.acme, cast.globex):
        switch_tool(tenant, "get_parcel", "on")
    with catalogue.using(Registry([get_parcel])):
        yield


def ask(cast: Cast) -> None:
    """Let Alice of Acme and Mallory of Globex ask the same."""
    for tenant, user in ((cast.acme, cast.alice), (cast.globex, cast.mallory)):
        with answer_with(ScriptedModel([parcel(), SAID])), ChatTester(tenant, user) as chat:
            chat.ask("How heavy is it?")
    assert Receipt.objects.count() == 2


def member(cast: Cast) -> Member:
    found = find_member(user_id=cast.alice.pk, tenant_slug="acme")
    assert found is not None
    return found


def counted(series: str, by: str, name: str) -> float:
    return REGISTRY.get_sample_value(f"assistant_{series}_total", {"by": by, "name": name}) or 0.0


def test_prometheus_gets_them_by_assistant_version_model_and_tool(cast: Cast) -> None:
    version = f"acme/support/{cast.support.prompt_versions.get().number}"
    names = [("assistant", "acme/support"), ("prompt", version), ("model", "test-model"), ("tool", "get_parcel")]
    series = ("answers_values", "answers_unsupported", "actions_unsupported")
    before = {(one, by): counted(one, by, name) for one in series for by, name in names}
    ask(cast)
    for by, name in names:
        times = 2 if by in {"model", "tool"} else 1  # those that both tenants share
        added = [counted(one, by, name) - before[one, by] for one in series]
        assert added == [2 * times, times, times], (by, added)


def test_prometheus_gets_those_that_were_not_checked(cast: Cast, monkeypatch: pytest.MonkeyPatch) -> None:
    series = ("answers_not_checked", "answers_values")
    kinds = [("assistant", "acme/support"), ("model", "test-model"), ("tool", "get_parcel")]
    before = {(one, by): counted(one, by, name) for one in series for by, name in kinds}
    ask(cast)
    assert counted("answers_not_checked", *kinds[0]) == before["answers_not_checked", "assistant"]
    Receipt.objects.all().delete()
    values = {by: counted("answers_values", by, name) for by, name in kinds}
    monkeypatch.setattr(tying, "make_receipt", fails)
    ask(cast)
    for by, name in kinds:
        times = 1 if by == "assistant" else 2
        assert counted("answers_not_checked", by, name) - before["answers_not_checked", by] == times
        assert counted("answers_values", by, name) == values[by]


def test_a_webhook_is_told_the_counts_with_the_end_of_a_run(cast: Cast) -> None:
    hook(cast.acme, "https://hooks.example.com/")
    ask(cast)
    bodies = {row.event: json.loads(row.body)["data"] for row in WebhookDelivery.objects.all()}
    assert bodies["run.finished"]["added"] == {"receipts": COUNTS}
    assert {name: bodies["answer.unsupported"][name] for name in COUNTS} == COUNTS
    assert "12.5" not in str(bodies) and "parcels.example" not in str(bodies)
    WebhookDelivery.objects.all().delete()
    Assistant.objects.update(extensions=[])
    with answer_with(ScriptedModel(["Hello."])), ChatTester(cast.acme, cast.alice) as chat:
        chat.ask("Hi")
    assert "added" not in json.loads(WebhookDelivery.objects.get().body)["data"]


def test_they_are_emptied_with_the_results_of_calls_and_keep_their_counts(cast: Cast) -> None:
    ask(cast)
    for row in Receipt.objects.all():
        age(row, 40)
    Retention.objects.create(tenant=cast.acme, tool_calls=30)
    for tenant in (cast.acme, cast.globex):
        apply_retention(tenant=tenant)
    assert apply_retention(tenant=cast.acme) == {}
    own = Receipt.objects.get(tenant=cast.acme)
    assert (own.marks, own.actions) == ([], [])
    assert {name: getattr(own, name) for name in COUNTS} == COUNTS
    assert "parcels.example" in str(Receipt.objects.get(tenant=cast.globex).marks)
    assert shown_receipts(member=member(cast), runs=list(Run.objects.filter(tenant=cast.acme))) == {}


def test_they_are_deleted_with_old_conversations(cast: Cast) -> None:
    ask(cast)
    for row in Conversation.objects.all():
        age(row, 40, "updated_at")
    Retention.objects.create(tenant=cast.acme, conversations=30)
    apply_retention(tenant=cast.acme)
    assert [row.tenant for row in Receipt.objects.all()] == [cast.globex]


def test_they_go_with_the_conversation_and_with_the_person(cast: Cast) -> None:
    ask(cast)
    conversation = Conversation.objects.get(assistant=cast.support)
    assert delete_conversation(member=member(cast), conversation_id=conversation.pk)
    assert [row.tenant for row in Receipt.objects.all()] == [cast.globex]
    erase_user(user=cast.mallory, actor=None)
    assert not Receipt.objects.exists()


def test_they_are_part_of_the_exports_of_their_tenant_and_person(cast: Cast) -> None:
    ask(cast)
    own = Receipt.objects.get(tenant=cast.acme)
    for archive in (exported_tenant(cast.acme), exported_person(cast)):
        (name,) = [one for one in archive.namelist() if "receipt" in one]
        (line,) = archive.read(name).decode().splitlines()
        assert json.loads(line)["message_id"] == own.message_id


def exported_tenant(tenant: Tenant) -> ZipFile:
    to = BytesIO()
    export_tenant(tenant=tenant, actor=None, to=to)
    return ZipFile(to)


def exported_person(cast: Cast) -> ZipFile:
    to = BytesIO()
    export_user(user=cast.alice, actor=None, to=to)
    return ZipFile(to)
