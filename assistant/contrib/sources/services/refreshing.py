"""Reads a source: page by page, so that other work gets its turn in between."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import aclosing
from functools import cache, partial
from typing import TypeVar

from django.utils.translation import gettext as _

from assistant.contrib.sources.models import Source
from assistant.contrib.sources.services.folder_walk import files_of, read_one
from assistant.contrib.sources.services.pages import Page, Plan, Progress, SourceFailed
from assistant.contrib.sources.services.site_walk import Site
from assistant.contrib.sources.services.storing import Line, begin, end, keep
from assistant.services.db.threads import in_database
from assistant.toolkit.carried_context import CarriedContext

T = TypeVar("T")
# One reading of a source; what is left is read by the next one.
MAX_SECONDS = 30 * 60.0
# Files that are read at once in a process, whoever's they are.
THREADS = 2


async def refresh(
    *, tenant_id: int, source_id: int, renew: Callable[[], Awaitable[bool]], tell: Callable[[Line], object] = id
) -> Source | None:
    """Read a source and keep what it has become; None if it is switched off, or another process reads it.

    Args:
        renew: called after each page; false ends the reading, which somebody else has taken over.
        tell: called with what became of each page.
    """
    plan = await in_database(begin, tenant_id=tenant_id, source_id=source_id)
    if plan is None:
        return None
    progress = Progress()
    lines: list[Line] = []
    gone: list[Page] = []
    has_failed = False
    ends_at = asyncio.get_running_loop().time() + MAX_SECONDS
    try:
        async with aclosing(_pages(plan, progress)) as pages:
            async for page in pages:
                line = await in_database(keep, plan, page)
                if line is None:
                    gone.append(page)
                else:
                    lines.append(line)
                    tell(line)
                if not await renew():
                    return None
                if asyncio.get_running_loop().time() > ends_at:
                    progress.problem = _("It takes too long: what is left is read next time.")
                    break
    except SourceFailed as exc:
        progress.problem = str(exc)
        has_failed = True
    return await in_database(
        end,
        plan,
        lines=lines,
        gone=gone,
        is_complete=not progress.problem,
        problem=progress.problem,
        has_failed=has_failed,
    )


async def _pages(plan: Plan, progress: Progress) -> AsyncGenerator[Page, None]:
    """Yield the pages or files of a source. Raises `SourceFailed`."""
    if plan.kind == Source.Kind.WEBSITE:
        async with aclosing(Site(plan, progress, _in_thread).pages()) as pages:
            async for page in pages:
                yield page
        return
    for address, path in await _in_thread(partial(files_of, plan, progress)):
        yield await _in_thread(partial(read_one, plan, address, path))


async def _in_thread(function: Callable[[], T]) -> T:
    return await asyncio.get_running_loop().run_in_executor(_threads(), CarriedContext().run, function)


@cache
def _threads() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(THREADS, thread_name_prefix="read-source")
