"""Makes many rows that look used, for measurements and for trying the control panel with a deployment's amounts."""

from __future__ import annotations

import json
import random
import uuid
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from math import ceil
from typing import Any

from django.contrib.auth import get_user_model
from django.contrib.auth.hashers import make_password
from django.db import transaction
from django.db.models import Model

from assistant.contrib.demo.seeds.added import added_seeds
from assistant.contrib.demo.seeds.prompts import INPUT_PRICE, OUTPUT_PRICE, prompts_of, store_prices
from assistant.contrib.demo.seeds.settings import settings_of
from assistant.models import (
    ApiKey,
    Assistant,
    AuditEntry,
    Conversation,
    Feedback,
    Incident,
    Membership,
    Message,
    PromptVersion,
    Provider,
    Run,
    Tenant,
    ToolCall,
    UsageEntry,
)

PREFIX = "seed"
PEOPLE, ASSISTANTS, CONVERSATIONS = 5, 3, 17
BATCH = 500
# Rows that are held before they are stored: some 100 MB.
HELD = 50_000
QUESTIONS = (
    "When do you open?",
    "Where is my order?",
    "Can I return a tent?",
    "What does delivery cost?",
    "Who is 42?",
)
ANSWERS = ("At nine.", "It left this morning.", "Yes, within thirty days.", "Four euros.", "Ada Lovelace, since 2019.")
MODEL = "seed-model"
# Their times are given, and not those at which they are stored.
TIMED = (
    Tenant, Conversation, Message, Run, ToolCall, UsageEntry, Feedback, AuditEntry, Incident, ApiKey,
)  # fmt: skip
# Weighted: most runs finish.
ENDINGS = (*[Run.Status.FINISHED] * 17, Run.Status.FAILED, Run.Status.CANCELLED, Run.Status.INTERRUPTED)


@dataclass
class Rows:
    """Rows that are not stored yet, by model, in the order of their models."""

    found: dict[type[Model], list[Any]] = field(default_factory=dict)
    stored: Counter[str] = field(default_factory=Counter)

    def add(self, *rows: Any) -> None:
        for row in rows:
            self.found.setdefault(type(row), []).append(row)

    def store(self, *, above: int = 0) -> None:
        """Store them, if there are more than so many, and count them by model."""
        if sum(map(len, self.found.values())) <= above:
            return
        for model, rows in self.found.items():
            model._base_manager.bulk_create(rows, batch_size=BATCH)
            self.stored[model.__name__] += len(rows)
        self.found.clear()


@transaction.atomic
def seed(*, tenants: int, days: int, number: int, now: datetime, runs: int | None = None) -> dict[str, int]:
    """Create tenants with people, assistants, conversations, runs and what belongs to them in the days before `now`.

    Args:
        number: rows are the same for the same number, except for their times.
        runs: of all tenants together, at least; the first has the most, as where some customers are large. None: about
            sixty of each tenant.

    Returns:
        The number of rows by model.
    """
    chance = random.Random(number)  # noqa: S311 - rows to look at, no secrets  # nosec B311
    provider, _ = Provider.objects.get_or_create(
        tenant=None, name="Seed", defaults={"base_url": "http://127.0.0.1:9/v1", "default_model": MODEL}
    )
    store_prices(provider, MODEL, now, days)
    with _given_times(*TIMED, *(model for seeds in added_seeds() for model in seeds.TIMED)):
        made = [_tenant(chance, index, provider, now, days) for index in range(1, tenants + 1)]
        Tenant.objects.bulk_create(made, batch_size=BATCH)
        people = _people(made)
        assistants = _assistants(made)
        rows = Rows()
        at_least = _runs_of(tenants, runs)
        for tenant, wanted in zip(made, at_least, strict=True):
            rows.add(*settings_of(chance, tenant, now))
            rows.add(*prompts_of(chance, assistants[tenant.pk], people[tenant.pk], now))
            _history(rows, chance, people[tenant.pk], assistants[tenant.pk], (now, days), at_least=wanted)
        rows.store()
    return {"Tenant": len(made), **rows.stored, "User": len(made) * PEOPLE, "Assistant": len(made) * ASSISTANTS}


@contextmanager
def _given_times(*models: type[Model]) -> Iterator[None]:
    """Store the times that rows were made with in place of the present one, within a block of this process."""
    fields = [one for model in models for one in model._meta.concrete_fields]
    automatic = [(one, name) for one in fields for name in ("auto_now", "auto_now_add") if getattr(one, name, False)]
    for one, name in automatic:
        setattr(one, name, False)
    try:
        yield
    finally:
        for one, name in automatic:
            setattr(one, name, True)


def _tenant(chance: random.Random, index: int, provider: Provider, now: datetime, days: int) -> Tenant:
    slug = f"{PREFIX}-{index:04}"
    words = chance.choice(("North", "South", "High", "Blue", "Old")), chance.choice(("Bikes", "Tents", "Books"))
    name = f"{' '.join(words)} {index}"
    default = provider if chance.random() < 0.95 else None
    return Tenant(slug=slug, name=name, default_provider=default, created_at=now - timedelta(days=days))


def _people(tenants: Sequence[Tenant]) -> dict[int, list[Any]]:
    """Create the people of each tenant, the owner first. They cannot sign in."""
    model = get_user_model()
    made = [(tenant, f"{tenant.slug}-{number}") for tenant in tenants for number in range(1, PEOPLE + 1)]
    users = model._default_manager.bulk_create(
        [model(**{model.USERNAME_FIELD: name, "password": make_password(None)}) for _, name in made], batch_size=BATCH
    )
    people: dict[int, list[Any]] = {}
    for (tenant, _), user in zip(made, users, strict=True):
        people.setdefault(tenant.pk, []).append(user)
    Membership.objects.bulk_create(
        [
            Membership(tenant=tenant, user=user, role=Membership.Role.OWNER if place == 0 else Membership.Role.MEMBER)
            for tenant in tenants
            for place, user in enumerate(people[tenant.pk])
        ],
        batch_size=BATCH,
    )
    return people


def _assistants(tenants: Sequence[Tenant]) -> dict[int, list[Assistant]]:
    names = ("Support", "Sales", "Accounts")
    made = Assistant.objects.bulk_create(
        [Assistant(tenant=tenant, slug=name.lower(), name=name) for tenant in tenants for name in names[:ASSISTANTS]],
        batch_size=BATCH,
    )
    PromptVersion.objects.bulk_create(
        [
            PromptVersion(
                assistant=one,
                number=number,
                text=f"You are {one.name} of {one.tenant.name}. Be brief.",
                status="published" if number == 2 else "archived",
            )
            for one in made
            for number in (1, 2)
        ],
        batch_size=BATCH,
    )
    found: dict[int, list[Assistant]] = {}
    for one in made:
        found.setdefault(one.tenant_id, []).append(one)
    return found


def _runs_of(tenants: int, runs: int | None) -> list[int]:
    """Return how many runs each tenant has at least: the second half as many as the first, the third a third."""
    whole = sum(1 / place for place in range(1, tenants + 1))
    return [ceil((runs or 0) / place / whole) for place in range(1, tenants + 1)]


def _history(
    rows: Rows,
    chance: random.Random,
    people: list[Any],
    assistants: list[Assistant],
    period: tuple[datetime, int],
    *,
    at_least: int,
) -> None:
    """Make conversations until there are so many runs, at least `CONVERSATIONS`, and store what becomes too much."""
    made = conversations = 0
    while made < at_least or conversations < CONVERSATIONS:
        made += _conversation(rows, chance, chance.choice(people), chance.choice(assistants), period)
        rows.add(
            AuditEntry(
                tenant=assistants[0].tenant,
                actor=people[0],
                action="tool.switch",
                target="refund",
                created_at=rows.found[Conversation][-1].created_at,
            )
        )
        conversations += 1
        rows.store(above=HELD)


def _conversation(
    rows: Rows, chance: random.Random, user: Any, assistant: Assistant, period: tuple[datetime, int]
) -> int:
    """Make a conversation; return the number of its runs."""
    now, days = period
    began = now - timedelta(seconds=chance.uniform(0, days * 86_400))
    runs = chance.randint(1, 6)
    times = [min(now, began + timedelta(minutes=3 * number)) for number in range(runs)]
    conversation = Conversation(
        id=uuid.UUID(int=chance.getrandbits(128), version=4),
        tenant=assistant.tenant,
        user=user,
        assistant=assistant,
        title=chance.choice(QUESTIONS),
        run_count=runs,
        message_count=2 * runs,
        created_at=began,
        updated_at=times[-1],
    )
    rows.add(conversation)
    for number, at in enumerate(times, 1):
        _run(rows, chance, conversation, number, at)
    return runs


def _run(rows: Rows, chance: random.Random, conversation: Conversation, number: int, at: datetime) -> None:
    status, seconds = chance.choice(ENDINGS), chance.lognormvariate(1, 0.6)
    tokens = chance.randint(500, 4_000), chance.randint(20, 400)
    own = {"tenant": conversation.tenant, "user": conversation.user, "assistant": conversation.assistant}
    run = Run(
        **own,
        conversation=conversation,
        run_id=f"{PREFIX}-{conversation.pk.hex[:12]}-{number}",
        number=number,
        status=status,
        provider_name="Seed",
        model=MODEL,
        error_code="provider_error" if status == Run.Status.FAILED else "",
        input_tokens=tokens[0],
        output_tokens=tokens[1],
        first_token_ms=round(seconds * 300),
        started_at=at,
        ended_at=at + timedelta(seconds=seconds),
    )
    texts = (("user", chance.choice(QUESTIONS)), ("assistant", chance.choice(ANSWERS)))
    messages = [
        Message(
            conversation=conversation,
            run=run,
            position=2 * number - 1 + place,
            message_id=f"{run.run_id}-{place}",
            role=role,
            content=text,
            created_at=at,
        )
        for place, (role, text) in enumerate(texts)
    ]
    rows.add(run, *messages)
    rows.add(UsageEntry(**own, run=run, provider="Seed", model=MODEL, input_tokens=tokens[0], output_tokens=tokens[1],
                        cost=INPUT_PRICE * tokens[0] + OUTPUT_PRICE * tokens[1], created_at=at))  # fmt: skip
    calls = []
    for call in range(chance.choice((0, 1, 1, 2))):
        name = chance.choice(("get_customer", "list_orders", "current_time", "refund"))
        is_waiting = chance.random() < 0.002
        calls.append(
            ToolCall(
                tenant=conversation.tenant,
                run=run,
                call_id=f"{run.run_id}-call-{call}",
                name=name,
                arguments=json.dumps({"customer_id": chance.randrange(100)}),
                status="awaiting_approval" if is_waiting else chance.choice(("ok", "ok", "ok", "ok", "error")),
                duration_ms=round(chance.lognormvariate(4, 1)),
                started_at=at,
            )
        )
    rows.add(*calls)
    run.timeline = _timeline(run, calls, round(seconds * 1000))
    if chance.random() < 0.1:
        of = {"tenant": conversation.tenant, "user": conversation.user, "message": messages[1]}
        rows.add(Feedback(**of, rating=chance.choice((1, 1, -1)), created_at=at))


def _timeline(run: Run, calls: list[ToolCall], total_ms: int) -> dict[str, Any]:
    """Return the times of a run: a request to the model, its tool calls, and a request with their results."""
    requests = 2 if calls else 1
    share = total_ms // (2 * requests - 1)
    used = {"in": run.input_tokens // requests, "out": run.output_tokens // requests, "cached": 0}
    cost = INPUT_PRICE * used["in"] + OUTPUT_PRICE * used["out"]
    rounds = [
        {"at": 2 * place * share, "ms": share, "first": share // 3, "tools": 4, "model": MODEL, **used, "cost": cost}
        for place in range(requests)
    ]
    kept = []
    for call in calls:
        ran = {} if call.status == "awaiting_approval" else {"at": share, "ms": min(call.duration_ms or 0, share)}
        kept.append({"id": call.call_id, "name": call.name, "status": call.status, **ran})
    return {"rounds": rounds, "calls": kept}
