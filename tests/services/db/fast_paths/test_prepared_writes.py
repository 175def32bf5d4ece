"""Prepared INSERT and UPDATE statements have the effect of the ORM's own, and touch no other rows."""

from __future__ import annotations

import uuid

import pytest
from django.db import IntegrityError, connection, transaction
from django.db.models import QuerySet
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from assistant.models import Conversation, Message, ToolSetting
from assistant.services.db.fast_paths.prepared_writes import PreparedInsert, PreparedUpdate
from tests.base import Cast
from tests.factories import make_conversation, switch_tool


def message(talk: Conversation, position: int, **fields: object) -> Message:
    """Text of every kind that a column may have to hold."""
    return Message(
        conversation=talk,
        position=position,
        message_id=f"m{position}",
        role="user",
        content="½ \U0001f600 '%s",
        **fields,
    )


def columns(row: Message) -> dict[str, object]:
    return {name: value for name, value in vars(row).items() if name not in {"_state", "id", "position", "message_id"}}


def test_an_inserted_row_equals_one_that_is_saved(cast: Cast) -> None:
    talk = make_conversation(cast.alice, cast.support)
    calls = [{"id": "a", "name": "add", "arguments": "{}"}]
    saved = message(talk, 0, tool_calls=calls)
    saved.save()
    inserts = PreparedInsert(Message)
    for position in (1, 2):
        made = inserts.insert(message(talk, position, tool_calls=calls))
        found = Message.objects.get(pk=made.pk)
        assert columns(found) == {**columns(Message.objects.get(pk=saved.pk)), "created_at": found.created_at}
        assert abs(timezone.now() - found.created_at).total_seconds() < 60
        made.content = "Changed"
        made.save()  # an UPDATE, because the instance counts as stored
    assert Message.objects.filter(content="Changed").count() == 2


def test_a_primary_key_that_is_set_is_kept(cast: Cast) -> None:
    pk = uuid.uuid4()
    made = PreparedInsert(Conversation).insert(
        Conversation(pk=pk, tenant=cast.acme, user=cast.alice, assistant=cast.support, title="Hello")
    )
    assert (made.pk, Conversation.objects.get(pk=pk).title) == (pk, "Hello")


def test_a_violated_constraint_raises_and_rolls_back_only_its_transaction(cast: Cast) -> None:
    talk = make_conversation(cast.alice, cast.support)
    inserts = PreparedInsert(Message)
    inserts.insert(message(talk, 0))
    with pytest.raises(IntegrityError), transaction.atomic():
        inserts.insert(message(talk, 0))
    assert Message.objects.filter(conversation=talk).count() == 1


@pytest.mark.parametrize("count", [0, 1, 3])
def test_any_number_of_rows_takes_at_most_one_statement(cast: Cast, count: int) -> None:
    talk = make_conversation(cast.alice, cast.support)
    inserts = PreparedInsert(Message)
    inserts.insert(message(talk, 99))
    rows = [message(talk, position) for position in range(count)]
    with CaptureQueriesContext(connection) as queries:
        inserts.insert_all(rows)
    assert len([query for query in queries if query["sql"].startswith("INSERT")]) == min(count, 1)
    assert Message.objects.filter(conversation=talk).count() == count + 1
    assert all(row.pk for row in rows)


def of_tenant(*, tenant_id: int, tool: str) -> QuerySet[ToolSetting]:
    return ToolSetting.objects.filter(tenant_id=tenant_id, tool=tool)


def test_an_update_sets_null_and_json_in_only_the_selected_rows(cast: Cast) -> None:
    for tenant in (cast.acme, cast.globex):
        switch_tool(tenant, "calculate", "off")
    switch_tool(cast.acme, "current_time", "off")
    update = PreparedUpdate(of_tenant, "policy", "config", "secrets", "assistant", tenant_id=int, tool=str)
    for config in ({"deep": [1, None]}, {}):
        to = {"policy": "on", "config": config, "secrets": '{"key": "s3cret"}', "assistant_id": None}
        assert update.update(to=to, tenant_id=cast.acme.pk, tool="calculate") == 1
        assert update.update(to=to, tenant_id=cast.acme.pk, tool="nothing") == 0
        changed = ToolSetting.objects.get(tenant=cast.acme, tool="calculate")
        assert (changed.policy, changed.config, changed.secrets) == ("on", config, '{"key": "s3cret"}')
    assert ToolSetting.objects.filter(policy="off").count() == 2
