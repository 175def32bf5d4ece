"""No address of the site shows or changes another tenant's rows. The addresses are read from the code."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

import pytest
from django.contrib.auth.models import User
from django.test import Client, override_settings

from tests.base import Cast
from tests.isolation.doors import admin_forms, paths, queries
from tests.isolation.planting import CANARY, crossings, plant, rows_of

# On PostgreSQL the same addresses are tried under row-level security (test_unfiltered_site.py).
pytestmark = [pytest.mark.django_db, pytest.mark.once]

WRITES = ("post", "put", "patch", "delete")


@dataclass(frozen=True)
class Answer:
    """The response to a try."""

    door: str
    status: int
    body: str

    @property
    def leaks(self) -> bool:
        return CANARY in self.body

    @property
    def fails(self) -> bool:
        """Websockets and MCP are not views: Django alone answers 501 there (`assistant.asgi.mounts`)."""
        return self.status >= 500 and self.status != 501

    def __str__(self) -> str:
        return f"{self.door} -> {self.status}"


def answer(client: Client, method: str, path: str, **options: Any) -> Answer:
    client.raise_request_exception = False
    response = getattr(client, method)(path, **options)
    content = b"".join(response) if response.streaming else response.content
    headers = " ".join(f"{name}: {value}" for name, value in response.headers.items())
    # A redirect to the sign-in page repeats the requested address, which the caller knows.
    headers = headers.replace(quote(path, safe="/"), "")
    return Answer(f"{method.upper()} {path}", response.status_code, headers + content.decode(errors="replace"))


def reads(
    client: Client, rows: Any, *, below: tuple[str, ...] = ("/",), most_queries: int | None = None
) -> Iterator[Answer]:
    for path in paths(rows):
        for query in queries(path, rows)[:most_queries] if path.startswith(below) else ():
            yield answer(client, "get", path + query)


def writes(client: Client, rows: Any, *, below: str = "/") -> Iterator[Answer]:
    for path, data in admin_forms(rows):
        if path.startswith(below):
            yield answer(client, "post", path, data=data)
    for path in paths(rows):
        if not path.startswith(below):
            continue
        # Django's admin treats every method except POST as GET.
        for method in WRITES[:1] if path.startswith("/admin/") else WRITES:
            yield answer(client, method, path, data={}, content_type="application/json")
        yield answer(client, "post", path, data={"title": "taken", "tenant": "acme", "policy": "on"})


def signed_in(user: User | None) -> Client:
    client = Client()
    if user is not None:
        client.force_login(user)
    return client


@pytest.fixture
def rows(cast: Cast) -> Any:
    return plant(cast)


@pytest.mark.timeout(600)
@pytest.mark.parametrize("who", ["mallory", "greta", "oscar", None])
def test_no_address_shows_another_tenants_rows(who: str | None, cast: Cast, rows: Any) -> None:
    answers = list(reads(signed_in(who and getattr(cast, who)), rows))
    assert [str(one) for one in answers if one.leaks] == []
    assert [str(one) for one in answers if one.fails and "/readyz" not in one.door] == []


@pytest.mark.timeout(600)
@pytest.mark.parametrize("who", ["mallory", "greta", "oscar", None])
def test_no_address_changes_another_tenants_rows(who: str | None, cast: Cast, rows: Any) -> None:
    before = rows_of(cast.acme)
    answers = list(writes(signed_in(who and getattr(cast, who)), rows))
    assert [str(one) for one in answers if one.leaks] == []
    assert [str(one) for one in answers if one.fails] == []
    assert rows_of(cast.acme) == before
    assert crossings() == []


@pytest.mark.timeout(600)
def test_the_owner_sees_the_rows(cast: Cast, rows: Any) -> None:
    pages = [f"/admin/assistant/{name}/" for name in ("conversation", "run", "toolcall", "assistant")]
    shown = {one.door.split("?")[0] for one in reads(signed_in(cast.amy), rows, below=tuple(pages)) if one.leaks}
    assert shown >= {f"GET {page}" for page in pages}


@pytest.mark.timeout(600)
def test_a_planted_leak_is_found(cast: Cast, rows: Any) -> None:
    with override_settings(ROOT_URLCONF="tests.isolation.sites.leaky_urls"):
        leaks = [one.door for one in reads(signed_in(cast.mallory), rows, below=("/leak/",)) if one.leaks]
    assert {door.split("?")[0].rsplit("/", 2)[0] for door in leaks} == {"GET /leak/read"}


@pytest.mark.timeout(600)
def test_a_planted_change_is_found(cast: Cast, rows: Any) -> None:
    before = rows_of(cast.acme)
    with override_settings(ROOT_URLCONF="tests.isolation.sites.leaky_urls"):
        list(writes(signed_in(cast.mallory), rows, below="/leak/"))
    assert rows_of(cast.acme) != before
