"""Random tries at every door, by callers whose rows they are not: nothing is shown and nothing is changed.

ISOLATION_TRIES is their number; `make resilience` sets 10,000 on each database.
"""

from __future__ import annotations

import asyncio
import io
import json
import os
import time
import zipfile
from pathlib import Path

import pytest
from django.core import serializers
from django.core.management import call_command

from assistant.contrib.timed.models import Alarm
from assistant.models import Conversation, Feedback, Membership, Message, Run, ToolCall
from tests.base import Cast
from tests.isolation.callers import PERSONAL
from tests.isolation.planting import CANARY, crossings, rows_of
from tests.isolation.tries import Tries
from tests.isolation.trying import Found, Trying
from tests.isolation.world import SITE, World
from tests.live import serve

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.timeout(1800)]

TRIES = int(os.environ.get("ISOLATION_TRIES", "200"))
SEED = 20261121
# Names another application, one that leaks deliberately, to show that the test finds it.
APPLICATION = os.environ.get("ISOLATION_APPLICATION", "config.asgi:application")
IS_LEAKY = APPLICATION != "config.asgi:application"
COLLEAGUES_SHARE = 0.3


def personal_rows(cast: Cast) -> str:
    """Return Alice's personal rows as text."""
    own = [
        Conversation.objects.filter(user=cast.alice),
        Message.objects.filter(conversation__user=cast.alice),
        Run.objects.filter(user=cast.alice),
        ToolCall.objects.filter(run__user=cast.alice),
        Feedback.objects.filter(user=cast.alice),
        Membership.objects.filter(user=cast.alice),
        Alarm.objects.filter(user=cast.alice),
    ]
    return str(serializers.serialize("json", [row for rows in own for row in rows.order_by("pk")]))


def sent_out(world: World) -> list[str]:
    """Return Acme's canaries in requests to Globex's provider, webhook receiver and external server."""
    bodies = [request.body for request in world.theirs.requests]
    found = [f"globex's provider: {body[:80]!r}" for body in bodies for c in (CANARY, PERSONAL) if c.encode() in body]
    found += ["acme's provider: Alice's" for request in world.ours.requests if PERSONAL.encode() in request.body]
    told = [json.loads(one.body) for one in world.receiver.received]
    found += [f"webhook: {one['type']}" for one in told if one["data"]["tenant"] != "globex" or CANARY in str(one)]
    calls = [str(one) for one in world.outsider.log() if one["authorization"] != f"Bearer {CANARY}"]
    return found + [f"external server: {one}" for one in calls if CANARY in one or PERSONAL in one or "'acme'" in one]


def exported(world: World, folder: Path) -> list[str]:
    """Return Acme's canaries in the exports of Globex and of its users."""
    folder.mkdir(exist_ok=True)
    for command, of in (
        ("assistant_export_tenant", "globex"),
        ("assistant_export_user", "mallory"),
        ("assistant_export_user", "greta"),
    ):
        call_command(command, of, "--by=root", file=folder / f"{of}.zip", stdout=io.StringIO(), stderr=io.StringIO())
    parts = [(path.name, name, zipfile.ZipFile(path).read(name)) for path in folder.glob("*.zip")
             for name in zipfile.ZipFile(path).namelist()]  # fmt: skip
    assert {file for file, _, _ in parts} == {"globex.zip", "mallory.zip", "greta.zip"}
    at = [(file, name, text, text.find(c.encode())) for file, name, text in parts for c in (CANARY, PERSONAL)]
    return [f"{file}: {name}: {text[max(0, n - 60) : n + 20]!r}" for file, name, text, n in at if n >= 0]


def make_tries(world: World, url: str, count: int, *, rivals: bool, until_leak: bool = IS_LEAKY) -> Found:
    """Make the tries. A deliberate leak needs to be found only once."""
    tries = Tries(world.cast, world.rows, SEED + rivals)
    return asyncio.run(Trying(url, tries, world.callers(rivals=rivals), until_leak=until_leak).make(count))


def test_random_tries_show_and_change_nothing(world: World, tmp_path: Path) -> None:
    began, of_colleagues = time.monotonic(), round(TRIES * COLLEAGUES_SHARE)
    before, own_before = rows_of(world.cast.acme), personal_rows(world.cast)
    with serve(application=APPLICATION, env=SITE) as server:
        rivals = make_tries(world, server.url, TRIES - of_colleagues, rivals=True)
        is_changed = rows_of(world.cast.acme) != before
        colleagues = make_tries(world, server.url, of_colleagues, rivals=False)
        is_changed |= personal_rows(world.cast) != own_before
        log = server.log
    leaks = [*rivals.leaks, *colleagues.leaks, *sent_out(world), *exported(world, tmp_path), *crossings()]
    leaks += ["rows were changed"] * is_changed
    failures = rivals.failures + colleagues.failures
    print(
        f"\nisolation: {rivals.tries + colleagues.tries} tries, {len(leaks)} leaks, {len(failures)} failed; "
        f"{len(world.ours.requests) + len(world.theirs.requests)} questions to providers, "
        f"{len(world.outsider.log())} calls outside, {len(world.receiver.received)} webhooks, "
        f"in {time.monotonic() - began:.0f} s; by door {dict(rivals.doors + colleagues.doors)}, "
        f"by status {dict(sorted((rivals.statuses + colleagues.statuses).items()))}"
    )
    assert leaks == []
    assert failures == [], log[-3000:]
    # Otherwise nothing was sent that could be searched.
    assert world.theirs.requests and world.ours.requests and world.outsider.log() and world.receiver.received


def test_a_site_without_its_filters_is_found(world: World) -> None:
    with serve(application="tests.isolation.sites.unfiltered_asgi:application", env=SITE) as server:
        assert make_tries(world, server.url, TRIES, rivals=True, until_leak=True).leaks
