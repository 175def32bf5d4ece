"""What `assistant_seed` makes of keys, drafts, prompt variables and prices, and what optional apps add."""

from __future__ import annotations

import random
import secrets
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from typing import Any

from django.apps import apps

from assistant.contrib.demo.seeds.added import added_seeds
from assistant.models import ApiKey, Assistant, PromptVariable, PromptVersion, Provider
from assistant.services.tenancy.members import KEY_PREFIX

# Millionths of a token's price, in and out.
INPUT_PRICE, OUTPUT_PRICE = 2, 8


def store_prices(provider: Provider, model: str, now: datetime, days: int) -> None:
    """Store prices of the model, once: those that its usage was priced with, and dearer ones from next month on."""
    if not apps.is_installed("assistant.contrib.price_list"):
        return
    price = apps.get_model("assistant_price_list", "ModelPrice")
    if price.objects.filter(tenant=None, provider=provider).exists():
        return
    next_month = (now.date().replace(day=1) + timedelta(days=32)).replace(day=1)
    for more, day in ((1, now.date() - timedelta(days=days)), (2, next_month)):
        costs = {"input": INPUT_PRICE * more, "output": OUTPUT_PRICE * more}
        price.objects.create(tenant=None, provider=provider, model=model, valid_from=day, **costs)


def prompts_of(
    chance: random.Random, assistants: Sequence[Assistant], people: Sequence[Any], now: datetime
) -> Iterator[Any]:
    """Yield a tenant's unsaved rows: keys that nobody has, a draft, a variable, and what optional apps add.

    A key is stored as the hash of nothing, so that the number of `assistant_seed` opens no door.

    Args:
        people: the owner first.
    """
    yield from _keys(chance, assistants[0], people, now)
    draft = PromptVersion(
        assistant=assistants[0],
        number=3,
        text=f"You are {assistants[0].name}. Answer in one sentence, with the time or the price.",
        status=PromptVersion.Status.DRAFT,
        label="shorter",
        note="Answers are too long.",
        created_by=people[0],
    )
    yield draft
    yield PromptVariable(tenant=assistants[0].tenant, name="opening_hours", value="Monday to Friday, nine to six")
    for seeds in added_seeds():
        yield from seeds.rows_of(chance, draft, people[0], now)


def _keys(chance: random.Random, assistant: Assistant, people: Sequence[Any], now: datetime) -> Iterator[ApiKey]:
    for name in ("website", "reports")[: chance.randint(1, 2)]:
        made = now - timedelta(days=chance.randint(20, 50))
        yield ApiKey(
            tenant=assistant.tenant,
            user=people[0],
            name=name,
            scopes=["chat", "read"] if name == "website" else ["read"],
            prefix=f"{KEY_PREFIX}{chance.getrandbits(40):010x}"[:10],
            hashed=secrets.token_hex(32),
            requests_per_minute=60 if name == "website" else None,
            created_at=made,
            last_used_at=now - timedelta(hours=chance.uniform(0, 72)),
            expires_at=now + timedelta(days=chance.randint(5, 200)) if chance.random() < 0.5 else None,
            revoked_at=made + timedelta(days=9) if chance.random() < 0.15 else None,
        )
