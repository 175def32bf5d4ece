"""Tools that wait for the world, and runs that call them in this process."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

from asgiref.sync import sync_to_async
from django.utils import timezone

from assistant.contrib.later_results.models import PendingCall
from assistant.contrib.later_results.services import continuation  # noqa: F401 - registers its jobs
from assistant.models import Job, Run
from assistant.services.jobs.jobs import LongWork
from assistant.services.runs.input.resume_entries import Resume
from assistant.services.runs.manager import get_runs
from assistant.services.runs.run_input import RunInput, TextMessage
from assistant.services.tenancy.members import find_member
from assistant.services.toolpolicy import catalogue
from assistant.toolkit import Pending, Registry, ToolContext, tool
from tests.base import Cast
from tests.factories import switch_tool
from tests.services.jobs.due_jobs import do_due_jobs

# The tokens that tools have given away, the newest last, and how often each ran.
tokens: list[str] = []
RESULT = "The bank says yes."


@tool(title="Ask the bank", waits=True, read_only=True)
def ask_bank(question: str, context: ToolContext) -> Pending:
    """Ask the bank, which answers within days."""
    tokens.append(context.callback.token)
    return Pending(timedelta(days=3), note="the bank")


@tool(waits=True, read_only=True)
def ask_colleague(context: ToolContext) -> Pending:
    """Ask a colleague, whose words are trusted."""
    tokens.append(context.callback.token)
    return Pending(timedelta(days=3), trusted=True)


@tool(waits=True, read_only=True)
def look_up(context: ToolContext) -> str:
    """Look something up that is known already."""
    tokens.append(context.callback.token)
    return "known"


@tool(read_only=True)
def forgets_to_say() -> Pending:
    """Return Pending without being declared."""
    return Pending(timedelta(days=3))


@tool
def send_letter(to: str) -> str:
    """Send a letter."""
    return f"sent to {to}"


TOOLS = (ask_bank, ask_colleague, look_up, forgets_to_say, send_letter)


@contextmanager
def tools_of_acme(cast: Cast) -> Iterator[None]:
    tokens.clear()
    for one in TOOLS:
        switch_tool(cast.acme, one.name)
    with catalogue.using(Registry(TOOLS)):
        yield


async def ask(cast: Cast, text: str = "Ask the bank", *, thread: uuid.UUID | None = None, **more: Any) -> Run:
    """Have Alice ask, and return the run when it has ended."""
    message = TextMessage(uuid.uuid4().hex, text) if text else None
    given = RunInput(thread or uuid.uuid4(), f"run-{uuid.uuid4().hex}", message=message, **more)
    return await run_of(cast, given)


async def answer(cast: Cast, run: Run, *resume: Resume) -> Run:
    """Have Alice answer interrupts of a run."""
    return await ask(cast, "", thread=run.conversation_id, resume=resume)


async def run_of(cast: Cast, given: RunInput) -> Run:
    member = await sync_to_async(find_member)(user_id=cast.alice.pk, tenant_slug="acme")
    assert member is not None
    opened = await get_runs().open(member=member, assistant_slug="support", given=given)
    await get_runs().ended(pk=opened.key.pk)
    return await Run.objects.aget(pk=opened.key.pk)


async def work(*, at_once: int = 1) -> None:
    """Do what is due as `at_once` processes would, until nothing is due and no run goes on.

    The housekeeping of this process takes jobs too: what it holds is waited for.
    """
    while True:
        now = timezone.now()
        waiting = Job.objects.filter(state="waiting", name="pending.continue")
        await waiting.filter(due_at__lt=now + timedelta(seconds=10)).aupdate(due_at=now)
        long: list[LongWork] = []
        for _ in range(at_once):
            await sync_to_async(do_due_jobs)(start=long.append)
        await asyncio.gather(*(one() for one in long))
        is_active = await Run.objects.filter(ended_at=None).aexists()
        if not is_active and not await waiting.filter(due_at__lt=now + timedelta(minutes=2)).aexists():
            return
        await asyncio.sleep(0.02)


async def take_over() -> None:
    """Have the leases end of the jobs that a process holds."""
    await Job.objects.filter(state="waiting", name="pending.continue").aupdate(due_at=timezone.now())


async def expire() -> None:
    """Have the time of all that waits be over."""
    past = timezone.now() - timedelta(seconds=1)
    await PendingCall.objects.aupdate(until=past)
    await Job.objects.filter(name="pending.expire", state="waiting").aupdate(due_at=past)
