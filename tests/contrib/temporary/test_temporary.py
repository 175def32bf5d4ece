"""Temporary conversations: in no list, search or export, and deleted; where they are not allowed they are refused."""

from __future__ import annotations

from datetime import timedelta
from io import BytesIO
from typing import Any
from zipfile import ZipFile

import pytest
from django.test import Client
from django.utils import timezone

from assistant.contrib.data_exports.exports import export_tenant, export_user
from assistant.contrib.temporary.deleting import LIFETIME, delete_temporary
from assistant.models import Assistant, AuditEntry, Conversation, Message, Run, UsageEntry
from assistant.testing import ChatTester, answer_with
from assistant.testing.scripted import ScriptedModel
from tests.api.calling import Caller
from tests.base import Cast
from tests.factories import make_conversation

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("provider")]
SECRET = "the red lighthouse"


@pytest.fixture
def _allowed(cast: Cast) -> None:
    Assistant.objects.update(extensions=["temporary"])


def ask(cast: Cast, *questions: str, door: Any = "websocket", **options: Any) -> list[Any]:
    answers = [f"About {question}." for question in questions]
    with answer_with(ScriptedModel(answers)), ChatTester(cast.acme, cast.alice, door=door) as chat:
        return [chat.ask(question, forwardedProps=options) for question in questions]


def exported(cast: Cast) -> bytes:
    texts = b""
    for write, of in ((export_tenant, {"tenant": cast.acme}), (export_user, {"user": cast.alice})):
        made = BytesIO()
        write(actor=None, to=made, **of)  # type: ignore[operator]
        with ZipFile(made) as archive:
            texts += b"".join(archive.read(name) for name in archive.namelist())
    return texts


@pytest.mark.usefixtures("_allowed")
@pytest.mark.parametrize("door", ["websocket", "sse"])
def test_it_is_in_no_list_search_or_export_and_its_member_goes_on_with_it(door: str, cast: Cast) -> None:
    first, second = ask(cast, SECRET, "more", door=door, temporary=True)
    assert not first.error and not second.error
    conversation = Conversation.objects.get()
    assert conversation.is_temporary and Run.objects.count() == 2
    calls = Caller(cast.acme, cast.alice)
    assert calls("get", "conversations/").json()["results"] == []
    assert calls.get("conversations/", q="lighthouse").json()["results"] == []
    assert SECRET.encode() not in exported(cast)
    assert calls("get", f"conversations/{conversation.client_id}/messages/").json()["results"]
    assert Caller(cast.globex, cast.mallory)("get", f"conversations/{conversation.pk}/messages/").status_code == 404


@pytest.mark.usefixtures("_allowed")
def test_the_tenant_has_that_there_was_one_without_its_content(cast: Cast) -> None:
    ask(cast, SECRET, "more", temporary=True)
    (entry,) = AuditEntry.objects.filter(action="conversation.temporary")
    assert (entry.tenant, entry.actor, entry.target) == (cast.acme, cast.alice, "assistant support")
    assert "lighthouse" not in str(entry.details)


@pytest.mark.usefixtures("_allowed")
def test_it_is_deleted_an_hour_after_its_last_answer_and_no_other(cast: Cast) -> None:
    ask(cast, SECRET, temporary=True)
    kept = make_conversation(cast.alice, cast.support)
    assert delete_temporary() == 0
    Conversation.objects.update(updated_at=timezone.now() - LIFETIME - timedelta(minutes=1))
    Run.objects.update(status=Run.Status.RUNNING, ended_at=None)
    assert delete_temporary() == 0
    Run.objects.update(status=Run.Status.FINISHED, ended_at=timezone.now())
    assert delete_temporary() == 1
    assert list(Conversation.objects.all()) == [kept] and not Message.objects.exists()
    assert UsageEntry.objects.filter(tenant=cast.acme).exists(), "what it has cost is still counted"


@pytest.mark.usefixtures("_allowed")
def test_its_member_deletes_it_at_once(cast: Cast) -> None:
    ask(cast, SECRET, temporary=True)
    thread = Conversation.objects.get().client_id
    assert Caller(cast.acme, cast.alice)("delete", f"conversations/{thread}/").status_code == 204
    assert not Conversation.objects.exists()


def test_an_assistant_without_the_addition_refuses(cast: Cast) -> None:
    (answer,) = ask(cast, SECRET, temporary=True)
    assert answer.error == "invalid_input" and not Conversation.objects.exists()


@pytest.mark.usefixtures("_allowed")
@pytest.mark.parametrize("value", ["yes", 1, {}])
def test_what_is_neither_true_nor_false_is_refused(value: Any, cast: Cast) -> None:
    (answer,) = ask(cast, SECRET, temporary=value)
    assert answer.error == "invalid_input" and not Conversation.objects.exists()


@pytest.mark.usefixtures("_allowed")
def test_one_that_is_kept_cannot_become_temporary(cast: Cast) -> None:
    script = ScriptedModel(["One.", "Two."])
    with answer_with(script), ChatTester(cast.acme, cast.alice) as chat:
        chat.ask("first")
        assert chat.ask("second", forwardedProps={"temporary": True}).error == "invalid_input"
    assert not Conversation.objects.get().is_temporary


@pytest.mark.usefixtures("_allowed")
def test_its_page_begins_a_new_conversation(cast: Cast, client: Client) -> None:
    ask(cast, SECRET, temporary=True)
    client.force_login(cast.alice)
    answer = client.get(f"/t/acme/c/{Conversation.objects.get().client_id}/")
    assert (answer.status_code, answer["Location"]) == (302, "/t/acme/")
