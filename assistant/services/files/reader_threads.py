"""Runs the reading of uploaded files for async callers, in a few threads of its own, one file of a member at a time.

Tenants take turns, and none holds all threads.

The default executor of an event loop also resolves names and renders Markdown, which must not wait for files.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import AsyncExitStack
from functools import cache
from typing import TypeVar
from weakref import WeakValueDictionary

from django.conf import settings

from assistant.services.files.reader_turns import FairPlaces, Uploader
from assistant.services.files.reading import busy
from assistant.services.tenancy.members import Member
from assistant.toolkit.carried_context import CarriedContext
from assistant.toolkit.context import UserId
from assistant.toolkit.per_loop import PerLoop

T = TypeVar("T")
# Beside those that wait for child processes: images and plain text are read without one.
_MORE_THREADS = 2


async def in_reader(member: Member, read: Callable[[], T]) -> T:
    """Return what `read` returns, called in a thread once it is the turn of the member and of their tenant.

    If the caller is cancelled meanwhile, the file keeps its turn and its thread until it is read.

    Raises:
        FileRefused: `files_busy`, no turn came within `ASSISTANT_FILE_READ_SECONDS`; or as `read` raises it.
    """
    return await asyncio.shield(asyncio.create_task(_in_turn(member, read), name="read-file"))


async def _in_turn(member: Member, read: Callable[[], T]) -> T:
    own = _own_turns.get().setdefault((member.tenant_id, member.user_id), asyncio.Lock())
    async with AsyncExitStack() as held:
        try:
            async with asyncio.timeout(settings.ASSISTANT_FILE_READ_SECONDS):
                await held.enter_async_context(own)
                await held.enter_async_context(_places().held_in_loop(Uploader.of(member)))
        except TimeoutError as exc:
            raise busy() from exc
        return await asyncio.get_running_loop().run_in_executor(_threads(), CarriedContext().run, read)


def _thread_count() -> int:
    return int(settings.ASSISTANT_FILE_READ_PROCESSES) + _MORE_THREADS


@cache
def _threads() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(_thread_count(), thread_name_prefix="read-file")


@cache
def _places() -> FairPlaces:
    return FairPlaces(_thread_count())


_own_turns: PerLoop[WeakValueDictionary[tuple[int, UserId], asyncio.Lock]] = PerLoop(WeakValueDictionary)
