"""Sessions of `ChatClient` in the database: whose they are, and how they are kept, exported and erased."""

from __future__ import annotations

import io
import json
from datetime import timedelta
from typing import Any
from zipfile import ZipFile

import pytest
from django.utils import timezone

from assistant.client import ChatClient, InMemoryStore, Message, ToolCall, sessions
from assistant.contrib.data_exports.exports import export_user
from assistant.contrib.row_level_security.protected_tables import protected_tables
from assistant.contrib.sessions.models import MAX_KIND, StoredEvent
from assistant.contrib.sessions.store import DjangoStore
from assistant.models import Membership, Retention, Tenant
from assistant.providers import ScriptedModel
from assistant.services.privacy.erasure import erase_user
from assistant.services.privacy.ownership import owned_models
from assistant.services.privacy.retention import apply_retention
from tests.base import Cast
from tests.client import crossing
from tests.factories import make_tenant, make_user

# A store asks in threads of its own.
pytestmark = pytest.mark.django_db(transaction=True)
ALICE = {"tenant": {"slug": "acme"}, "user": {"username": "alice"}}
LONG = "owls " * 100


def join(people: list[tuple[str, str]]) -> None:
    tenants = {slug: make_tenant(slug) for slug in {slug for slug, _ in people}}
    users = {name: make_user(name) for name in {name for _, name in people}}
    for slug, name in people:
        Membership.objects.create(tenant=tenants[slug], user=users[name])


def client(*turns: Any) -> tuple[ChatClient[Any], ScriptedModel]:
    model = ScriptedModel(turns)
    return ChatClient(model=model, store=DjangoStore(), context=ALICE), model


@pytest.fixture
def people(transactional_db: None) -> None:
    join(crossing.PEOPLE)


@pytest.fixture
def alike(transactional_db: None) -> None:
    join(crossing.ALIKE)


def test_a_kind_is_as_long_here_as_in_the_client() -> None:
    assert MAX_KIND == sessions.MAX_KIND


async def test_two_tenants_and_two_users_with_one_name_for_their_conversation(people: None) -> None:
    await crossing.everybody_reads_their_own(DjangoStore())


async def test_keys_that_look_alike_are_different(alike: None) -> None:
    await crossing.keys_that_look_alike_are_different(DjangoStore())


async def test_a_session_has_events_of_its_own_and_compactions_that_are_undone(cast: Cast) -> None:
    asking, model = client(*[f"answer {number}" for number in range(6)], "They talked of owls.", "after", "all of it")
    session = asking.session("c1", context=ALICE)
    for number in range(6):
        await asking.call(f"question {number} {LONG}", conversation="c1")
    await session.add("seen", {"page": 1})
    before = await session.messages()
    assert await session.compact(tokens=500)
    await asking.call("And now?", conversation="c1")
    assert "They talked of owls." in str(model.requests[-1].messages)
    assert await session.undo_compaction()
    assert (await session.messages())[:12] == before
    (seen,) = await session.events("seen")
    assert seen.value == {"page": 1} and seen.at.tzinfo is not None


@pytest.mark.parametrize("text", ["null \x00 byte", "half \ud800 character", "Zoë 日本"])
async def test_a_message_is_the_same_as_from_memory(cast: Cast, text: str) -> None:
    call = Message("assistant", text, tool_calls=(ToolCall("c", "x", "{}"),), provider_state="s", sources=("a",))
    messages = [Message("user", "Hi"), call, Message("tool", text, tool_call_id="c")]
    for store in (InMemoryStore(), DjangoStore()):
        asking = ChatClient(model=ScriptedModel(["ok"]), store=store, context=ALICE)
        await asking.call(messages, conversation="c1")
        assert (await asking.session("c1", context=ALICE).messages())[:3] == messages


@pytest.mark.parametrize(
    ("context", "error"),
    [
        ({"tenant": {"slug": "globex"}, "user": {"username": "alice"}}, LookupError),
        ({"tenant": {"slug": "acme"}, "user": {"username": "oscar"}}, LookupError),
        ({"tenant": {"slug": "nowhere"}, "user": {"username": "alice"}}, LookupError),
        ({"tenant": {"slug": "acme"}}, ValueError),
        ({"user": {"username": "alice"}}, ValueError),
        ({}, ValueError),
    ],
)
async def test_who_has_no_conversations(cast: Cast, context: Any, error: type[Exception]) -> None:
    asking = ChatClient(model=ScriptedModel("ok"), store=DjangoStore())
    with pytest.raises(error):
        await asking.call("Hi", conversation="c1", context=context)
    assert not await StoredEvent.objects.aexists()


async def test_a_tenant_that_is_not_active_and_a_name_that_is_too_long(cast: Cast) -> None:
    asking, _ = client("ok")
    with pytest.raises(ValueError, match="200 characters"):
        await asking.call("Hi", conversation="c" * 201)
    await Tenant.objects.filter(pk=cast.acme.pk).aupdate(is_active=False)
    with pytest.raises(LookupError, match="not active"):
        await asking.call("Hi", conversation="c1")


async def test_ids_name_the_same_conversation_as_names_do(cast: Cast) -> None:
    asking, model = client("Noted.", "Alice.")
    await asking.call("I am Alice.", conversation="c1")
    by_id = {"tenant": {"id": cast.acme.pk}, "user": {"id": cast.alice.pk}}
    await ChatClient(model=model, store=DjangoStore()).call("Who am I?", conversation="c1", context=by_id)
    assert [message.content for message in model.requests[1].messages] == ["I am Alice.", "Noted.", "Who am I?"]


def event(tenant: Tenant, user: Any, name: str, *, days: int) -> None:
    at = timezone.now() - timedelta(days=days)
    StoredEvent.objects.create(tenant=tenant, user=user, conversation=name, kind="note", value='"owl"', at=at)


def test_conversations_are_deleted_as_a_whole_after_their_last_event(cast: Cast) -> None:
    event(cast.acme, cast.alice, "over", days=40)
    event(cast.acme, cast.alice, "on", days=40)
    event(cast.acme, cast.alice, "on", days=1)
    event(cast.acme, cast.amy, "on", days=40)
    event(cast.globex, cast.mallory, "over", days=40)
    Retention.objects.create(tenant=cast.acme, conversations=30)
    assert apply_retention(tenant=cast.acme)["session events"] == 2
    left = StoredEvent.objects.values_list("user__username", "conversation").distinct()
    assert {*left} == {("alice", "on"), ("mallory", "over")}


def test_they_are_exported_and_erased_with_their_member(cast: Cast) -> None:
    event(cast.acme, cast.alice, "c1", days=0)
    event(cast.acme, cast.amy, "c1", days=0)
    file = io.BytesIO()
    export_user(user=cast.alice, actor=None, to=file)
    (line,) = ZipFile(file).read("assistant_sessions.StoredEvent.jsonl").splitlines()
    assert json.loads(line)["value"] == '"owl"'
    erase_user(user=cast.alice, actor=None)
    assert StoredEvent.objects.get().user_id == cast.amy.pk


def test_the_rows_are_a_tenants_to_erase_to_export_and_to_hide_from_others() -> None:
    assert StoredEvent in {*owned_models(Tenant)}
    assert StoredEvent._meta.db_table in {table.table for table in protected_tables()}
