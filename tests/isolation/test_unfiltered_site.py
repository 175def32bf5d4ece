"""A site without the application's filters shows no foreign row at any door while row-level security is on."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from typing import Any

import pytest

from assistant.contrib.data.models import RowDocument
from assistant.models import Conversation, Document, Run, Tenant
from assistant.services.tenancy.members import create_api_key
from tests.agui import Frame
from tests.base import Cast
from tests.isolation.planting import CANARY, plant, rows_of
from tests.isolation.restricted_role import role, served_as
from tests.isolation.test_http import reads, writes
from tests.isolation.test_mcp import answers
from tests.isolation.test_websocket import frames_against, leaks, try_all
from tests.isolation.visiting import Visitor
from tests.live import Server, serve
from tests.ws import open_socket

__all__ = ["role"]

pytestmark = [pytest.mark.services, pytest.mark.django_db(transaction=True), pytest.mark.timeout(900)]

# What the site's own jobs change meanwhile, beside documents of rows that no model has.
BY_JOBS = {
    "assistant.job",
    "assistant_data.rowdocument",
    "assistant_gaps.documentdoubt",
    *("assistant_panel.summedtenant", "assistant_panel.daysum", "assistant_panel.spendsum"),
}
UNFILTERED = "tests.isolation.sites.unfiltered_asgi:application"


def leaks_of(server: Server, cast: Cast, rows: Mapping[type, Any], *, most_queries: int | None = None) -> list[str]:
    """Return what another tenant sees at every address, with every MCP method and every websocket frame.

    `most_queries`: how many query strings an address is asked with; None for all.
    """
    _, key = create_api_key(tenant=cast.globex, user=cast.mallory, name="hers")
    visits = list(reads(Visitor(server.url, cast.greta), rows, most_queries=most_queries))
    calls = list(answers(server, key, rows))
    frames = asyncio.run(frames_of(server, key, rows))
    found = [str(one) for one in visits if one.leaks] + [door for door, body in calls if CANARY in body]
    found += [f"websocket/{frame['type']}/{frame.get('name', '')}/" for frame in leaks(frames)]
    tries = len(visits) + len(calls) + sum(map(len, frames_against(talk_of(rows)).values()))
    print(f"\nunfiltered: {tries} tries, {len(found)} leaks")
    return found


def planted(cast: Cast) -> dict[type, Any]:
    """Rows as of `plant`, except the run's id, which frames repeat to the client that sent it."""
    rows: dict[type, Any] = {**plant(cast)}
    rows[Run].run_id = "run-of-acme"
    rows[Run].save(update_fields=["run_id"])
    return rows


def kept_rows(tenant: Tenant, of_rows: Document) -> list[Any]:
    """Return all rows of a tenant but those that jobs change; `of_rows`: the document of a row."""
    return [
        row
        for row in json.loads(rows_of(tenant))
        if row["model"] not in BY_JOBS and (row["model"], row["pk"]) != ("assistant.document", of_rows.pk)
    ]


def talk_of(rows: Mapping[type, Any]) -> Frame:
    """Return the ids that a client needs to name a planted conversation over a websocket."""
    # The id of a planted message has the canary, and is repeated to whoever sends it.
    said = {"id": "x", "role": "assistant", "content": "taken"}
    return {"threadId": str(rows[Conversation].pk), "runId": rows[Run].run_id, "messages": [said]}


async def frames_of(server: Server, key: str, rows: Mapping[type, Any]) -> list[Frame]:
    """Return what another tenant's websocket receives for frames of every type with ids of planted rows."""
    async with open_socket(server.url, tenant="globex", key=key) as mallory:
        # Where a leak is expected, a busy machine must not hide it.
        return await try_all(mallory, talk_of(rows), quiet=4.0)


def test_a_site_without_filters_shows_and_changes_no_foreign_row(cast: Cast, role: str) -> None:
    rows = planted(cast)
    of_rows = rows[RowDocument].document
    before = kept_rows(cast.acme, of_rows)
    with serve(application=UNFILTERED, env=served_as(role)) as server:
        assert leaks_of(server, cast, rows) == []
        list(writes(Visitor(server.url, cast.mallory), rows))
        assert kept_rows(cast.acme, of_rows) == before


def test_a_site_without_filters_leaks_without_policies(cast: Cast, transactional_db: None) -> None:
    rows = planted(cast)
    with serve(application=UNFILTERED) as server:
        # One query string each is enough to show that leaks are found.
        found = leaks_of(server, cast, rows, most_queries=1)
    doors = {door.split("?")[0].rsplit("/", 2)[0] for door in found}
    assert len(doors) > 10 and {door.partition("/")[0] for door in doors} > {"websocket"}, doors
