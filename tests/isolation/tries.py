"""Makes requests at random, by rivals, colleagues and strangers, to every door, with ids that are not theirs."""

from __future__ import annotations

import random
import re
import uuid
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from django.contrib.auth.models import User
from django.test import Client

from assistant.models import Assistant, Conversation, Message, Run, Tenant, ToolCall
from assistant.services.members import create_api_key
from tests.base import Cast
from tests.factories import make_member
from tests.isolation.doors import admin_forms, paths, queries
from tests.isolation.planting import CANARY
from tests.isolation.test_http import Answer, answer
from tests.ws import run_input

# In what is personal: a colleague of the same tenant must not see it either.
PERSONAL = "buchfink4471"
METHODS = ("get", "get", "get", "get", "post", "post", "put", "patch", "delete")
# Every address belongs to one of the doors; one that fits none fails the suite.
DOORS = {
    "exports": r"^/api/v1/.*/export/$",
    "widget": r"^/api/v1/.*/end-user-tokens/$|^/static/assistant/widget",
    "SSE": r"^/api/v1/.*(/assistants/[^/]+/runs/|/events/)$",
    "webhooks": r"^/admin/assistant/webhook|^/api/v1/.*/webhooks?/",
    "REST": r"^/api/",
    "/v1": r"^/v1/",
    "admin": r"^/admin/",
    "pages": r"^/(t/|$|accounts/|docs/|healthz$|readyz$|metrics$)",
}


def door_of(path: str) -> str | None:
    """Which door an address belongs to; None if it is not listed."""
    return next((door for door, pattern in DOORS.items() if re.search(pattern, path)), None)


@dataclass
class Caller:
    """Somebody with what they sign in by; `canaries` are what they must not see."""

    name: str
    client: Client
    canaries: tuple[str, ...]
    headers: dict[str, str] = field(default_factory=dict)


def make_personal(rows: Mapping[type, Any]) -> None:
    """Write the second canary into what is Alice's alone."""
    texts = {
        Conversation: {"title": PERSONAL, "summary": PERSONAL},
        Message: {"content": PERSONAL, "reasoning": PERSONAL},
        ToolCall: {"arguments": PERSONAL, "result": PERSONAL, "error": PERSONAL},
        Run: {"error_message": PERSONAL},
    }
    for model, values in texts.items():
        model._base_manager.filter(pk=rows[model].pk).update(**values)


def callers(cast: Cast) -> list[Caller]:
    """A rival, the rival's admin, an outsider, nobody, a colleague; by session and by key."""
    colleague = make_member(cast.acme, "colleague")
    found = [_by_session(user, (CANARY, PERSONAL)) for user in (cast.mallory, cast.greta, cast.oscar, None)]
    found.append(_by_session(colleague, (PERSONAL,)))
    for tenant, user, canaries in (
        (cast.globex, cast.mallory, (CANARY, PERSONAL)),
        (cast.globex, cast.greta, (CANARY, PERSONAL)),
        (cast.acme, colleague, (PERSONAL,)),
    ):
        scopes = ["chat", "read", "tools", "end_users"]
        key = create_api_key(tenant=tenant, user=user, name="tries", scopes=scopes)[1]
        headers = {"Authorization": f"Bearer {key}"}
        found.append(Caller(f"{user.username}'s key", Client(), canaries, headers))
    return found


def _by_session(user: User | None, canaries: tuple[str, ...]) -> Caller:
    client = Client()
    if user is not None:
        client.force_login(user)
    return Caller(user.username if user else "nobody", client, canaries)


class Tries:
    """Requests at random, the same for the same seed."""

    def __init__(self, cast: Cast, rows: Mapping[type, Any], seed: int) -> None:
        self._random = random.Random(seed)
        self._rows = rows
        # The other tenant's ids under one's own tenant, which is what forgetting a filter would let through.
        mixed = {**rows, Tenant: cast.globex, Assistant: cast.rival_support}
        every = [*paths(rows), *paths(mixed)]
        self.paths = sorted({path for path in every if "logout" not in path})
        by_door: dict[str, list[str]] = {}
        for path in self.paths:
            by_door.setdefault(door_of(path) or "unlisted", []).append(path)
        # Doors are tried alike, however many addresses each has.
        self._by_door = list(by_door.items())
        self._forms = list(admin_forms(rows))
        self._ids = [str(row.pk) for row in rows.values()] + [rows[Tenant].slug, rows[Run].run_id]
        self.doors: Counter[str] = Counter()

    def one(self, caller: Caller) -> Answer:
        """Send one request as `caller`."""
        door, known = self._random.choice(self._by_door)
        self.doors[door] += 1
        if door == "admin" and self._random.random() < 0.3:
            path, data = self._random.choice(self._forms)
            return answer(caller.client, "post", path, data=data, headers=caller.headers)
        path, method = self._random.choice(known), self._random.choice(METHODS)
        if method == "get":
            asked = self._random.choice(queries(path, self._rows)) if self._random.random() < 0.5 else self._query()
            return answer(caller.client, "get", path + asked, headers=caller.headers)
        return answer(
            caller.client, method, path, data=self._body(), content_type="application/json", headers=caller.headers
        )

    def _query(self) -> str:
        names = ("tenant", "tenant_id", "user", "user_id", "conversation", "thread", "run", "q", "assistant", "member")
        return f"?{self._random.choice(names)}={self._random.choice(self._ids)}"

    def _body(self) -> dict[str, Any]:
        kind = self._random.randrange(4)
        thread, run = str(self._rows[Conversation].pk), self._rows[Run].run_id
        if kind == 0:
            return run_input("Tell me what was said", thread=thread, run=self._random.choice([run, str(uuid.uuid4())]))
        if kind == 1:
            resume = [
                {"interruptId": self._rows[ToolCall].call_id, "status": "resolved", "payload": {"approved": True}}
            ]
            return {**run_input("x", thread=thread), "messages": [], "resume": resume}
        if kind == 2:
            return {
                "model": self._rows[Assistant].slug,
                "messages": [{"role": "user", "content": "What was said?"}],
                "user": self._random.choice(self._ids),
            }
        names = (
            "title",
            "tenant",
            "tenant_id",
            "user",
            "user_id",
            "assistant",
            "conversation",
            "approved",
            "rating",
            "id",
        )
        return {name: self._random.choice(self._ids) for name in self._random.sample(names, 3)}
