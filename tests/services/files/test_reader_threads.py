"""Files are read one at a time of a member, in threads of their own, and nobody waits for a turn without end."""

from __future__ import annotations

import asyncio
import threading
from dataclasses import replace

import pytest
from pytest_django import Settings

from assistant.services.files.kinds import FileRefused
from assistant.services.files.reader_threads import in_reader
from assistant.services.tenancy.members import Member

pytestmark = pytest.mark.django_db


async def test_a_member_waits_for_their_own_file_and_nobody_else_does(alice_member: Member, settings: Settings) -> None:
    settings.ASSISTANT_FILE_READ_SECONDS = 0.2
    begun, may_end = threading.Event(), threading.Event()

    def read() -> str:
        begun.set()
        may_end.wait(20)
        return threading.current_thread().name

    slow = asyncio.create_task(in_reader(alice_member, read))
    await asyncio.to_thread(begun.wait, 20)
    with pytest.raises(FileRefused) as refused:
        await in_reader(alice_member, lambda: "second")
    assert refused.value.code == "files_busy"
    other = replace(alice_member, user=replace(alice_member.user, id=1_000_000))
    assert await in_reader(other, lambda: "other") == "other"
    may_end.set()
    assert (await slow).startswith("read-file")
    assert await in_reader(alice_member, lambda: "second") == "second"


async def test_a_file_whose_uploader_has_gone_keeps_its_turn(alice_member: Member, settings: Settings) -> None:
    settings.ASSISTANT_FILE_READ_SECONDS = 0.2
    begun, may_end = threading.Event(), threading.Event()

    def read() -> None:
        begun.set()
        may_end.wait(20)

    slow = asyncio.create_task(in_reader(alice_member, read))
    await asyncio.to_thread(begun.wait, 20)
    slow.cancel()
    with pytest.raises(FileRefused):
        await in_reader(alice_member, lambda: None)
    may_end.set()
