"""A thousand attempts to act for another tenant, through everything that a caller can send."""

from __future__ import annotations

import base64
import random
from collections.abc import Iterator
from typing import Any

import pytest

from assistant.models import ToolCall
from assistant.services.knowledge.documents import add_document
from assistant.services.tenancy.members import create_api_key
from tests.base import Cast
from tests.factories import make_member, switch_tool
from tests.live import Server
from tests.mcp.talking import MODERN, OLDER, Client, Json

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.timeout(600)]

TRIES = 1000
NAMES = (
    "tenant", "tenant_id", "tenantId", "tenant_slug", "x-tenant", "x-tenant-id", "organization", "user", "user_id",
    "member", "account", "workspace", "principal", "sub", "subject", "client_id", "key", "api_key", "context", "extra",
    "io.modelcontextprotocol/tenant", "io.modelcontextprotocol/clientInfo", "assistant.mcp.member", "assistant/context",
)  # fmt: skip
HEADERS = (
    "x-tenant", "x-tenant-id", "x-forwarded-user", "x-user", "x-remote-user", "remote-user", "x-original-url",
    "x-rewrite-url", "forwarded", "x-forwarded-host", "cookie", "mcp-session-id", "mcp-param-tenant", "x-api-key",
    "proxy-authorization", "last-event-id", "x-real-ip",
)  # fmt: skip


class Tries:
    """Makes requests that name Acme in places where somebody might look for a tenant."""

    def __init__(self, cast: Cast, document: int, seed: int) -> None:
        self._random = random.Random(seed)
        self._values: list[Any] = [
            cast.acme.slug, cast.acme.pk, str(cast.acme.pk), cast.acme.name, cast.alice.pk, cast.alice.username,
            f"{cast.acme.pk}:{cast.alice.pk}:1", {"slug": "acme", "id": cast.acme.pk}, {"tenant": "acme"}, ["acme"],
        ]  # fmt: skip
        self._document = document

    def noise(self) -> Json:
        names = self._random.sample(NAMES, self._random.randint(1, 4))
        return {name: self._random.choice(self._values) for name in names}

    def headers(self) -> dict[str, str]:
        names = self._random.sample(HEADERS, self._random.randint(0, 3))
        return {name: str(self._random.choice(self._values)).replace(" ", "") for name in names}

    def cursor(self) -> str:
        text = self._random.choice(["", "acme", "a", f"knowledge://documents/{self._document - 1}", "support", "zz"])
        return base64.urlsafe_b64encode(text.encode()).decode()

    def request(self) -> tuple[str, Json]:
        kind = self._random.randrange(8)
        uri = self._random.choice([f"knowledge://documents/{self._document}", f"knowledge://acme/{self._document}"])
        params: Json = {"_meta": {name: value for name, value in self.noise().items() if "protocol" not in name}}
        if kind <= 2:
            arguments = {"note": str(self._random.choice(self._values))} | (self.noise() if kind else {})
            return "tools/call", params | {
                "name": "who_am_i",
                "arguments": arguments,
                **(self.noise() if kind > 1 else {}),
            }
        if kind == 3:
            return "resources/read", params | {"uri": uri}
        if kind == 4:
            return "prompts/get", params | {"name": "support", "arguments": {"tenant": "acme"}}
        method = self._random.choice(["tools/list", "resources/list", "prompts/list"])
        return method, params | {"cursor": self.cursor()} | (self.noise() if kind > 6 else {})


def rivals(cast: Cast, count: int) -> Iterator[str]:
    """Keys of several members of Globex, so that no one of them sends too much."""
    for number in range(count):
        member = make_member(cast.globex, f"rival-{number}")
        yield create_api_key(tenant=cast.globex, user=member, name="mcp", scopes=["tools"])[1]


def test_nothing_that_a_caller_sends_changes_the_tenant(uvicorn_served: Server, cast: Cast) -> None:
    document = add_document(tenant=cast.acme, title="ACME-SECRET", text="ACME-SECRET").pk
    cast.support.prompt_versions.update(text="ACME-SECRET")
    switch_tool(cast.acme, "find_orders")
    tries, keys = Tries(cast, document, seed=20261121), list(rivals(cast, 8))
    clients = [Client(uvicorn_served.url, key, version=version) for key in keys for version in (MODERN, OLDER)]
    seen = {"result": 0, "error": 0}
    for number in range(TRIES):
        method, params = tries.request()
        response = clients[number % len(clients)].post(method, params, **tries.headers())
        assert response.status_code < 500, (method, params, response.text)
        assert "ACME-SECRET" not in response.text and "find_orders" not in response.text
        assert '"tenant":"acme"' not in response.text.replace(" ", "").replace("\\", "")
        seen["result" if '"result"' in response.text else "error"] += 1
    assert min(seen.values()) > TRIES // 20, "some tries are answered, and some refused"
    assert set(ToolCall.objects.values_list("tenant__slug", flat=True)) == {"globex"}
    assert not ToolCall.objects.exclude(user__username__startswith="rival-").exists()
