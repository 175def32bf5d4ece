"""`manage.py chat`: a chat with a tenant's assistant in the terminal. Runs are stored like any others."""

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
MAX_RESULT_CHARACTERS = 400


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
    """Keep the assistant's log below WARNING out of the terminal, because its lines would interrupt answers."""
    logger = logging.getLogger("assistant")
    before = logger.level
    # A level that the project has set higher stays.
    logger.setLevel(max(before, logging.WARNING))
    try:
        yield
    finally:
        logger.setLevel(before)


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
        self._is_mid_line = False

    async def go(self) -> None:
        runs = get_runs()
        try:
            while text := (await self._read("\n> ")).strip():
                message = TextMessage(str(uuid.uuid4()), clean_text(text))
                waiting = await self._turn(runs, message=message)
                while waiting:
                    waiting = await self._turn(runs, resume=await self._ask(waiting))
        finally:
            await runs.stop()

    async def _read(self, prompt: str) -> str:
        self._command.stdout.write(prompt if sys.stdin.isatty() else "", ending="")
        self._command.stdout.flush()
        try:
            return await asyncio.to_thread(sys.stdin.readline)
        except UnicodeDecodeError:
            self._say("That is not UTF-8 text.")
            return ""

    async def _ask(self, waiting: list[events.Interrupt]) -> tuple[Resume, ...]:
        answers = []
        for interrupt in waiting:
            self._say(interrupt.message or "A tool needs your approval.")
            given = (await self._read("Run it? [y/N] ")).strip().lower()
            answers.append(parse_resume(interrupt.id, "resolved", {"approved": given in {"y", "yes"}}))
        return tuple(answers)

    async def _turn(
        self, runs: Runs, *, message: TextMessage | None = None, resume: tuple[Resume, ...] = ()
    ) -> list[events.Interrupt]:
        """Run one turn and print it. Return the calls that need approval."""
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
            self._say(str(exc))
            return []
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
            match event:
                case events.TextMessageContent(delta=delta):
                    self._command.stdout.write(delta, ending="")
                    self._command.stdout.flush()
                    self._is_mid_line = not delta.endswith("\n")
                case events.ToolCallStart(tool_call_name=name):
                    self._say(f"[{name}]")
                case events.ToolCallResult(content=content):
                    self._say(
                        f"  = {content[:MAX_RESULT_CHARACTERS]}{' …' if len(content) > MAX_RESULT_CHARACTERS else ''}"
                    )
                case events.RunError(message=message):
                    self._say(message)
                case events.RunFinished(outcome=events.Interrupted(interrupts=interrupts)):
                    return interrupts
                case events.RunFinished(outcome=events.Cancelled()):
                    self._say("[stopped]")
        self._say("")
        return []

    def _say(self, line: str) -> None:
        """Print text on a new line."""
        self._command.stdout.write(("\n" if self._is_mid_line else "") + line, ending="\n" if line else "")
        self._command.stdout.flush()
        self._is_mid_line = False


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
