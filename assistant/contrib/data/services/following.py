"""Keeps each process up to date with what operators have ticked: its tools, and all else that is made of plans."""

from __future__ import annotations

import asyncio
import contextvars
import logging
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

from django.apps import apps
from django.core.handlers.wsgi import WSGIHandler
from django.core.signals import request_started
from django.db import DatabaseError

from assistant.contrib.data.models import ExposedModel
from assistant.contrib.data.services.exposures import Ticked, ticked, use_ticked
from assistant.contrib.data.services.offering import offer
from assistant.contrib.data.services.plans import plans
from assistant.contrib.data.services.read_tools import tools_of_plan
from assistant.services.db.threads import in_database
from assistant.services.tenancy import change_notices
from assistant.services.toolpolicy import catalogue
from assistant.toolkit import InvalidTool

logger = logging.getLogger(__name__)

# How often a process looks for what others have ticked.
LOOK_SECONDS = 3.0
_lock = threading.Lock()


def refresh() -> None:
    """Read what operators have ticked, and offer the tools of it in this process.

    Changes nothing where nothing has changed. A model whose tools have names of others is left out, and logged.
    """
    rows = tuple(_read())
    with _lock:
        known = ticked()
        if rows == tuple(known.values()):
            return
        before = {name for plan in plans() for name in plan.tools}
        use_ticked(rows)
        plans.cache_clear()
        taken = {tool.name for tool in catalogue.registry()} - before
        tools = []
        for plan in plans():
            made = tools_of_plan(plan)
            if names := taken.intersection(tool.name for tool in made):
                logger.warning("%s is not offered: there is another tool %s", plan.label, sorted(names)[0])
                continue
            taken |= {tool.name for tool in made}
            tools += made
        catalogue.replace_tools(before, tools)
        offer()
    change_notices.notify()


def _read() -> Iterator[Ticked]:
    for row in ExposedModel.objects.order_by("row_model"):
        one = ticked_of(row)
        if one is not None:
            yield one


def ticked_of(row: ExposedModel) -> Ticked | None:
    """Return what a row says; None if its model is no longer there."""
    try:
        model = apps.get_model(row.row_model)
    except (LookupError, ValueError):
        return None
    return Ticked(
        model=model,
        is_offered=row.is_offered,
        fields=tuple(row.fields),
        filters=tuple(row.filters),
        personal=tuple(row.personal),
        description=row.description,
        wording=tuple(row.wording.items()),
    )


def look() -> None:
    """Do what `refresh` does, and log what fails: without a table, as before a migration, nothing is ticked."""
    try:
        refresh()
    except (DatabaseError, InvalidTool) as exc:
        logger.warning("What operators have exposed cannot be read: %s", exc)


class Follower:
    """Looks every few seconds, in one event loop."""

    def __init__(self) -> None:
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Begin, in the event loop; a second call does nothing."""
        if self._task is None:
            self._task = asyncio.create_task(self._follow(), name="exposed-models", context=contextvars.Context())

    async def stop(self) -> None:
        """End."""
        if self._task is not None:
            self._task.cancel()
            with suppress(asyncio.CancelledError):
                await self._task

    async def _follow(self) -> None:
        while True:
            await in_database(look)
            await asyncio.sleep(LOOK_SECONDS)


class _Looked:
    at = -LOOK_SECONDS


def _before_request(**_: Any) -> None:
    now = time.monotonic()
    if now - _Looked.at >= LOOK_SECONDS:
        _Looked.at = now
        look()


def follow() -> None:
    """Have servers without an event loop look, too, when a request begins."""
    request_started.connect(_before_request, sender=WSGIHandler, dispatch_uid="assistant.contrib.data.following")
