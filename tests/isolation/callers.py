"""The callers of the isolation tests: their credentials, and the canaries that they must never see."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlencode

from django.conf import settings
from django.contrib.auth.models import User

from assistant.models import Assistant, Tenant
from assistant.services.tenancy.members import create_api_key
from tests.base import Cast
from tests.contrib.end_users.minting import SHOP, allow, token_for
from tests.contrib.end_users.minting import Caller as Shop
from tests.factories import make_member
from tests.isolation.planting import CANARY
from tests.isolation.visiting import CSRF
from tests.ws import session_cookie

# In personal rows, which a colleague of the same tenant must not see either.
PERSONAL = "buchfink4471"
EVERY_SCOPE = ("chat", "read", "tools", "end_users")
# The doors that admit each kind of caller. A caller whom no door admits tries all of them.
OF_SESSIONS = ("pages", "REST", "SSE", "exports", "websocket", "tools", "tools")
# The admin is repeated, because it has more addresses than all other doors together.
OF_ADMINS = (*("admin",) * 6, "webhooks", *OF_SESSIONS)
OF_KEYS = ("REST", "SSE", "exports", "/v1", "MCP", "widget", "websocket", "tools", "tools")
OF_END_USERS = ("widget", "REST", "SSE", "exports", "websocket")


@dataclass(frozen=True)
class Caller:
    """A caller. `tenant` is their own, `doors` admit them, and they must not see `canaries`.

    `key` is an API key or an end user's token, `cookie` a session's header; an anonymous caller has neither. They make
    `turns` parts of all tries.
    """

    name: str
    tenant: str
    canaries: tuple[str, ...] = (CANARY, PERSONAL)
    key: str = ""
    cookie: str = ""
    origin: str = ""
    doors: tuple[str, ...] = ()
    turns: int = 1

    @property
    def is_rival(self) -> bool:
        return self.tenant != "acme"

    @property
    def headers(self) -> dict[str, str]:
        """The headers of an HTTP request, with the CSRF token that the site's own pages would send."""
        if self.key:
            return {"authorization": f"Bearer {self.key}"} | ({"origin": self.origin} if self.origin else {})
        cookies = "; ".join(filter(None, (self.cookie, f"{settings.CSRF_COOKIE_NAME}={CSRF}")))
        return {"cookie": cookies, "x-csrftoken": CSRF}


@dataclass(frozen=True)
class Request:
    """One HTTP request; results are counted by `door`, and with `is_endless` the response may never end."""

    door: str
    method: str
    path: str
    headers: Mapping[str, str] = field(default_factory=dict)
    body: str | None = None
    is_endless: bool = False

    @classmethod
    def of(cls, door: str, method: str, path: str, *, form: Any = None, body: Any = None) -> Request:
        if form is not None:
            kind = {"content-type": "application/x-www-form-urlencoded"}
            return cls(door, method, path, kind, urlencode(form, doseq=True))
        if body is not None:
            return cls(door, method, path, {"content-type": "application/json"}, json.dumps(body))
        return cls(door, method, path)


def callers(cast: Cast) -> list[Caller]:
    """Return another tenant's member and admin, an outsider, an anonymous caller, a colleague and end users."""
    colleague = make_member(cast.acme, "colleague")
    return [
        Caller("mallory", "globex", cookie=session_cookie(cast.mallory), doors=OF_SESSIONS),
        Caller("greta", "globex", cookie=session_cookie(cast.greta), doors=OF_ADMINS, turns=3),
        Caller("oscar", "nowhere", cookie=session_cookie(cast.oscar)),
        Caller("nobody", "nowhere"),
        *(_by_key(cast.globex, user, (CANARY, PERSONAL)) for user in (cast.mallory, cast.greta)),
        _end_user(cast.rival_support, cast.greta, (CANARY, PERSONAL)),
        Caller("colleague", "acme", (PERSONAL,), cookie=session_cookie(colleague), doors=OF_SESSIONS),
        _by_key(cast.acme, colleague, (PERSONAL,)),
        _end_user(cast.support, cast.amy, (PERSONAL,)),
    ]


def _by_key(tenant: Tenant, user: User, canaries: tuple[str, ...]) -> Caller:
    key = create_api_key(tenant=tenant, user=user, name="tries", scopes=EVERY_SCOPE)[1]
    return Caller(f"{user.username}'s key", tenant.slug, canaries, key=key, doors=OF_KEYS)


def _end_user(assistant: Assistant, admin: User, canaries: tuple[str, ...]) -> Caller:
    allow(assistant)
    tenant = assistant.tenant
    token = token_for(Shop(tenant, admin, scopes=["end_users"]), f"visitor-of-{tenant.slug}")
    return Caller(f"{tenant.slug}'s visitor", tenant.slug, canaries, key=token, origin=SHOP, doors=OF_END_USERS)
