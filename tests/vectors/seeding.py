"""Rows that hold the vectors: each as an answer, a thought, a tool and a file; titles, names, and every model."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from django.contrib.auth.models import User
from django.db import models

from assistant.models import Conversation, Membership, Message, Run, ToolCall, ToolFile
from tests.base import Cast
from tests.factories import make_conversation, make_run
from tests.isolation.planting import CANARY, plant
from tests.slow_tool.tools import PIXEL
from tests.vectors import CORPUS, POLYGLOT, Vector

PER_THREAD = 26
# What runs where an address is shown as a link.
ADDRESS = "javascript:ran(9003)"


def _storable(text: str) -> str:
    """As the product's entrances keep it: PostgreSQL has no NUL."""
    return text.replace("\x00", "\ufffd")


def seed_threads(cast: Cast) -> list[Conversation]:
    """Alice's threads in which each vector is a question, an answer, a thought, a tool's name, arguments and result."""
    batches = [CORPUS[start : start + PER_THREAD] for start in range(0, len(CORPUS), PER_THREAD)]
    return [_thread(cast, batch) for batch in batches]


def _thread(cast: Cast, vectors: list[Vector]) -> Conversation:
    conversation = make_conversation(cast.alice, cast.support, title=_storable(vectors[0].text)[:200])
    run = make_run(conversation)
    calls = [_call(run, vector) for vector in vectors]
    ToolCall.objects.bulk_create(calls)
    ToolFile.objects.bulk_create(
        ToolFile(tenant=cast.acme, call=call, name=_storable(vector.text)[:100], media_type=kind, size=1, data=PIXEL)
        for call, vector in zip(calls, vectors, strict=True)
        for kind in ("image/png", "text/html")
    )
    rows = [row for vector in vectors for row in _messages(conversation, run, vector)]
    for position, row in enumerate(rows, start=1):
        row.position, row.message_id = position, f"{conversation.pk}-{position}"
    Message.objects.bulk_create(rows)
    return conversation


def _call(run: Run, vector: Vector) -> ToolCall:
    text = _storable(vector.text)
    return ToolCall(
        tenant=run.tenant,
        run=run,
        call_id=f"call-{vector.number}",
        name=text[:128],
        arguments=json.dumps({text: text}),
        status=ToolCall.Status.OK if vector.number % 2 else ToolCall.Status.ERROR,
        rule=text[:300],
        result=text,
        told=text,
        display=[None, {text: text}, [{text: text}], text][vector.number % 4],
        error=text,
    )


def _messages(conversation: Conversation, run: Run, vector: Vector) -> Iterator[Message]:
    text, call_id = _storable(vector.text), f"call-{vector.number}"
    call = {"id": call_id, "name": text[:128], "arguments": json.dumps({text: text})}
    same = {"conversation": conversation, "run": run}
    yield Message(role="user", content=text, **same)
    yield Message(role="assistant", content="", reasoning=text, tool_calls=[call], **same)
    yield Message(role="tool", content=text, tool_call_id=call_id, **same)
    yield Message(role="assistant", content=text, **same)


def seed_names(cast: Cast) -> None:
    """A thread titled, and a member of Acme called, by each vector; the page's own names by the worst of them."""
    texts = [_storable(vector.text) for vector in CORPUS]
    same = {"tenant": cast.acme, "user": cast.alice, "assistant": cast.support}
    Conversation.objects.bulk_create(Conversation(title=text[:200], **same) for text in texts)
    users = User.objects.bulk_create(
        User(username=f"{text[:140]}{number}", first_name=text[:150]) for number, text in enumerate(texts)
    )
    Membership.objects.bulk_create(Membership(tenant=cast.acme, user=user) for user in users)
    User.objects.filter(pk=cast.alice.pk).update(username=POLYGLOT, first_name=POLYGLOT)
    type(cast.acme).objects.filter(pk=cast.acme.pk).update(name=POLYGLOT[:100])
    fields = {"name": POLYGLOT[:100], "description": POLYGLOT, "starters": [POLYGLOT]}
    type(cast.support).objects.filter(pk=cast.support.pk).update(**fields)


def seed_every_model(cast: Cast) -> Mapping[type[models.Model], models.Model]:
    """A row of each model of Acme's, hostile in each field that holds a text; by model."""
    rows = plant(cast)
    for model, row in rows.items():
        changed = {field.name: _hostile(field, row) for field in model._meta.local_concrete_fields}
        known = {name: value for name, value in changed.items() if value is not None}
        if known and not model._meta.proxy:
            model._base_manager.filter(pk=row.pk).update(**known)
    return rows


def _hostile(field: models.Field[Any, Any], row: models.Model) -> Any:
    value = getattr(row, field.attname)
    if isinstance(field, models.URLField) and value:
        return ADDRESS
    if isinstance(field, models.JSONField) and CANARY in json.dumps(value):
        return json.loads(json.dumps(value).replace(CANARY, json.dumps(POLYGLOT)[1:-1]))
    if type(field) in {models.CharField, models.TextField} and isinstance(value, str) and CANARY in value:
        return value.replace(CANARY, POLYGLOT)[: field.max_length]
    return None
