"""`manage.py assistant_chat`: a chat with a tenant's assistant in the terminal. Runs are stored like any others."""

from __future__ import annotations

import asyncio
import logging
import signal
import sys
import uuid
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager, nullcontext
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from assistant.contrib.terminal.form import YES, fill
from assistant.contrib.terminal.printer import EventPrinter, printable
from assistant.core.toolcalls.batch import PENDING
from assistant.core.values import events
from assistant.management.operator import OperatorCommand
from assistant.models import Assistant, Membership, Tenant
from assistant.services.assistants.provider_choice import describe_provider
from assistant.services.errors import Refused
from assistant.services.eventlog.frames import decode_event
from assistant.services.eventlog.log import Position
from assistant.services.runs.input.resume_entries import Resume, parse_resume
from assistant.services.runs.manager import Runs, get_runs
from assistant.services.runs.run_input import RunInput, TextMessage
from assistant.services.tenancy.members import Member, find_member
from assistant.services.tenancy.memberships import find_user
from assistant.toolkit.text import clean_text

ROLES = [Membership.Role.OWNER, Membership.Role.ADMIN, Membership.Role.MEMBER]


class Command(OperatorCommand):
    help = "Chat with a tenant's assistant. An empty line or the end of the input ends it; Ctrl-C stops an answer."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("tenant", help="The tenant's slug.")
        parser.add_argument("assistant", nargs="?", help="The assistant's slug; default the tenant's first.")
        parser.add_argument("--user", metavar="USERNAME", help="The member; default the tenant's first owner or admin.")

    def handle(self, *args: Any, **options: Any) -> None:
        member = _member(options["tenant"], options["user"])
        assistant = _assistant(member, options["assistant"])
        self.stdout.write(f"{assistant.name} of {member.tenant.name}. Answers: {describe_provider(assistant)}.")
        self.stdout.write(f"You are {member.user.username}; conversations are kept like those of the browser.")
        with nullcontext() if options["verbosity"] > 1 else _only_warnings():
            asyncio.run(ChatSession(self, member, assistant.slug).go())


@contextmanager
def _only_warnings() -> Iterator[None]:
    """Keep the assistant's log below WARNING out of the terminal, because its lines would interrupt answers.

    Delays of the event loop are left out too: they concern servers.
    """
    levels = {logging.getLogger("assistant"): logging.WARNING, logging.getLogger("assistant.loop"): logging.ERROR}
    before = {logger: logger.level for logger in levels}
    for logger, level in levels.items():
        logger.setLevel(max(logger.level, level))  # a level that the project has set higher stays
    try:
        yield
    finally:
        for logger, level in before.items():
            logger.setLevel(level)


def _member(tenant_slug: str, username: str | None) -> Member:
    memberships = Membership.objects.filter(tenant__slug=tenant_slug, role__in=ROLES).select_related("user")
    if username is not None:
        memberships = memberships.filter(user=find_user(username))
    ranked = sorted(memberships, key=lambda membership: ROLES.index(Membership.Role(membership.role)))
    member = find_member(user_id=ranked[0].user_id, tenant_slug=tenant_slug) if ranked else None
    if member is None:
        if not Tenant.objects.filter(slug=tenant_slug, is_active=True).exists():
            raise CommandError(f"There is no active tenant {tenant_slug!r}.")
        raise CommandError(
            f"{username!r} is not an active member of {tenant_slug}." if username else "It has no members."
        )
    return member


def _assistant(member: Member, slug: str | None) -> Assistant:
    rows = Assistant.objects.filter(tenant_id=member.tenant_id, is_active=True)
    rows = rows.select_related("provider", "tenant", "tenant__default_provider").order_by("pk")
    found = (rows.filter(slug=slug) if slug else rows).first()
    if found is None:
        raise CommandError(f"{member.tenant.slug} has no active assistant{f' {slug!r}' if slug else ''}.")
    return found


class ChatSession:
    """A chat in one thread."""

    def __init__(self, command: BaseCommand, member: Member, assistant_slug: str) -> None:
        self._command = command
        self._member = member
        self._assistant = assistant_slug
        self._thread = uuid.uuid4()
        self._printer = EventPrinter(command.stdout)
        self._is_at_end = False

    async def go(self) -> None:
        runs = get_runs()
        try:
            while text := (await self._read("\n> ")).strip():
                message = TextMessage(str(uuid.uuid4()), clean_text(text))
                waiting = await self._turn(runs, message=message)
                while waiting:
                    waiting = await self._turn(runs, resume=await self._ask(waiting), asked=waiting)
        finally:
            await runs.stop()

    async def _read(self, prompt: str) -> str:
        self._command.stdout.write(printable(prompt) if sys.stdin.isatty() else "", ending="")
        self._command.stdout.flush()
        try:
            line: str = await asyncio.to_thread(sys.stdin.readline)
        except UnicodeDecodeError:
            self._printer.say("That is not UTF-8 text.")
            line = ""
        self._is_at_end = not line
        return line

    async def _ask(self, waiting: list[events.Interrupt]) -> tuple[Resume, ...]:
        answers = []
        for interrupt in waiting:
            self._printer.say(interrupt.message or "A tool needs your approval.")
            if interrupt.reason == "input_required":
                answer = await fill((interrupt.metadata or {})["form"], self._read)
            else:
                answer = {"approved": (await self._read("Run it? [y/N] ")).strip().casefold() in YES}
            answers.append(parse_resume(interrupt.id, "resolved", answer or {"approved": False}))
        return tuple(answers)

    async def _turn(
        self,
        runs: Runs,
        *,
        message: TextMessage | None = None,
        resume: tuple[Resume, ...] = (),
        asked: list[events.Interrupt] | None = None,
    ) -> list[events.Interrupt]:
        """Run one turn and print it.

        Args:
            resume: answers to the calls in `asked`.

        Returns:
            The calls that need an approval or an answer; `asked` again if the answers were refused.
        """
        given = RunInput(
            thread_id=self._thread,
            run_id=str(uuid.uuid4()),
            message=message,
            resume=resume,
            protocol_version=events.PROTOCOL_VERSION,
        )
        try:
            opened = await runs.open(member=self._member, assistant_slug=self._assistant, given=given)
        except Refused as exc:
            self._printer.say(str(exc))
            return [] if self._is_at_end else asked or []
        shown = asyncio.create_task(self._show(runs, opened.key.thread, opened.key.number))
        loop = asyncio.get_running_loop()
        stop = asyncio.Event()
        loop.add_signal_handler(signal.SIGINT, stop.set)
        try:
            stopping = asyncio.create_task(stop.wait())
            await asyncio.wait({shown, stopping}, return_when=asyncio.FIRST_COMPLETED)
            if not shown.done():
                await runs.cancel(member=self._member, run_id=given.run_id)
            stopping.cancel()
            return await shown
        finally:
            loop.remove_signal_handler(signal.SIGINT)

    async def _show(self, runs: Runs, thread: str, number: int) -> list[events.Interrupt]:
        async for event in _follow(runs, thread, number):
            self._printer.show(event)
            if isinstance(event, events.RunFinished) and isinstance(event.outcome, events.Interrupted):
                return [one for one in event.outcome.interrupts if one.reason != PENDING]
        self._printer.end_line()
        return []


async def _follow(runs: Runs, thread: str, number: int) -> AsyncIterator[events.Event]:
    """Yield the events of one run."""
    log = await runs.log.open(thread)
    position = Position(number, 0)
    with log.watching() as changed:
        while True:
            changed.clear()
            for entry in log.read(position):
                yield decode_event(entry.frame)
                position = entry.position
                if entry.is_end:
                    return
            await changed.wait()
