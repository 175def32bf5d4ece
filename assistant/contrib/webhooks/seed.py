"""What `assistant_seed` makes of webhooks."""

from __future__ import annotations

import random
from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any

from django.db.models import Model

from assistant.contrib.webhooks.models import Webhook
from assistant.contrib.webhooks.services.events import new_secret
from assistant.models import PromptVersion

TIMED: tuple[type[Model], ...] = ()


def rows_of(chance: random.Random, draft: PromptVersion, owner: Any, now: datetime) -> Iterator[Webhook]:
    """Yield an unsaved webhook for one tenant in five."""
    if chance.random() < 0.2:
        failing = now - timedelta(hours=5) if chance.random() < 0.3 else None
        url = "https://hooks.example.com/"
        tenant = draft.assistant.tenant
        yield Webhook(tenant=tenant, name="crm", url=url, secret=new_secret(), failing_since=failing)
