"""`manage.py assistant_init`: proposes how a project gets an assistant over its own data, and writes it."""

from __future__ import annotations

import os
import subprocess  # nosec B404
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from typing import Any

from django.apps import apps
from django.core.management.base import CommandError, CommandParser

from assistant.contrib.data.services.init.candidates import Candidate, candidate_of, candidates
from assistant.contrib.data.services.init.changes import (
    RECORD,
    Block,
    Change,
    EditedBlock,
    Record,
    added,
    diff_of,
    read_record,
    record_text,
    removed,
    undone,
    write,
)
from assistant.contrib.data.services.init.project import CannotRead, Project, notes, own_models, read_project
from assistant.contrib.data.services.init.proposing import Plan, differences, plan_for
from assistant.management.operator import OperatorCommand

_SECONDS = 300
_CHOOSE_MODEL = "export OPENAI_API_KEY=... OPENAI_MODEL=... (or another model: docs/try-it.md)"
_SERVER_OPTIONS = "--http assistant.asgi.request_heads:BoundedHeads --ws websockets-sansio --ws-max-size 327680"
# What the options of uvicorn need; the extra `server` brings them.
_SERVER_PACKAGES = ("uvicorn", "httptools", "websockets")
_OTHER_SERVERS = {"daphne": "daphne -p 8000", "hypercorn": "hypercorn --bind 127.0.0.1:8000"}


class Command(OperatorCommand):
    help = (
        "Propose, as a diff, what this project needs to have an assistant over its own data: its tenants, settings, "
        "addresses, a first assistant, models and columns to read. Nothing is written before you agree."
    )
    works_on_tenants = False
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--yes", action="store_true", help="Write without asking.")
        parser.add_argument("--check", action="store_true", help="Only say what has changed since; exit with 1 if so.")
        parser.add_argument("--undo", action="store_true", help="Take back all that was written.")
        parser.add_argument("--tenant-model", metavar="APP.MODEL", help="The tenants, instead of the likeliest model.")

    def handle(self, *args: Any, **options: Any) -> None:
        if sum(options[name] for name in ("check", "undo")) > 1:
            raise CommandError("Give either --check or --undo.")
        try:
            project = read_project()
        except CannotRead as exc:
            raise CommandError(str(exc)) from exc
        record = read_record(project.folder)
        if options["undo"]:
            self._undo(project, record, is_agreed=options["yes"])
            return
        plan = plan_for(project, self._candidate(project, options["tenant_model"], record), record)
        if options["check"]:
            self._check(plan, record)
            return
        self._write(project, plan, record, is_agreed=options["yes"])

    def _candidate(self, project: Project, label: str | None, record: Record | None) -> Candidate:
        found = list(own_models(project))
        label = label or ("" if record is None else record.facts["tenant_model"])
        if label:
            try:
                model = apps.get_model(label)
            except (LookupError, ValueError) as exc:
                raise CommandError(f"There is no model {label!r}.") from exc
            return candidate_of(model, found)
        ranked = candidates(found)
        if not ranked:
            raise CommandError("No model looks like this project's tenants. Name it: --tenant-model APP.MODEL.")
        self.stdout.write("Tenants, the likeliest first:")
        for place, one in enumerate(ranked[:5], 1):
            self.stdout.write(f"  {place}. {one.label} ({one.score}): {'; '.join(one.reasons)}")
        if len(ranked) > 1:
            self.stdout.write(f"Taken is {ranked[0].label}; --tenant-model names another.")
        return ranked[0]

    def _check(self, plan: Plan, record: Record | None) -> None:
        if record is None:
            raise CommandError(f"There is no {RECORD}: assistant_init has not written anything here.")
        told = differences(record.facts, plan.facts)
        if not told:
            self.stdout.write("Nothing has changed since.")
            return
        raise CommandError("\n".join(["Changed since assistant_init was run:", *told]))

    def _write(self, project: Project, plan: Plan, record: Record | None, *, is_agreed: bool) -> None:
        blocks, changes = self._changes(project, plan, record)
        if not changes:
            self.stdout.write("Nothing is to be written.")
            return
        stored = Record(tuple(blocks), plan.facts)
        path = project.folder / RECORD
        before = path.read_text(encoding="utf-8") if path.is_file() else None
        self.stdout.write("\n".join(diff_of(changes)))
        self._tell(project, plan)
        if not is_agreed and not self._asked("Write this?"):
            self.stdout.write("Nothing was written.")
            return
        changes.append(Change(RECORD, before, record_text(stored)))
        write(project.folder, changes)
        if problem := _problem_of(project):
            write(project.folder, undone(changes))
            raise CommandError(f"The project does not start with this, so it was taken back.\n{problem}")
        self.stdout.write(self.style.SUCCESS(f"Written, and manage.py check passes. {RECORD} remembers it: commit it."))
        steps = ["python manage.py migrate", "python manage.py assistant_sync_tenants", _CHOOSE_MODEL]
        if project.asgi_file is not None:
            module = ".".join(project.asgi_file.relative_to(project.folder).with_suffix("").parts)
            steps += _starting(f"{module}:{project.asgi_name}")
        steps.append(f"sign in at http://127.0.0.1:8000/{project.mount} and ask")
        self.stdout.write("\n  ".join(["Next:", *steps]))

    def _changes(self, project: Project, plan: Plan, record: Record | None) -> tuple[list[Block], list[Change]]:
        """Return the blocks as they are to be recorded, and the changes to the files."""
        blocks: list[Block] = []
        changes: list[Change] = []
        known = {block.file: block for block in (record.blocks if record is not None else ())}
        for file in [*plan.texts, *(name for name in known if name not in plan.texts)]:
            text = plan.texts.get(file)
            block = known.get(file)
            if block is not None and block.text == text:
                blocks.append(block)
                continue
            first: Change | None = None
            if block is not None:
                try:
                    first = removed(project.folder, block)
                except EditedBlock as exc:
                    self.stdout.write(self.style.WARNING(f"{exc} They stay as they are."))
                    blocks.append(block)
                    continue
            if text is None:
                changes += [first] if first is not None else []
                continue
            new, change = added(project.folder, file, text, base=first)
            blocks.append(new)
            changes.append(change)
        return blocks, changes

    def _tell(self, project: Project, plan: Plan) -> None:
        self.stdout.write("")
        for one in plan.proposal.exposed:
            personal = f"; personal: {', '.join(one.personal)}" if one.personal else ""
            left_out = f"; left out: {', '.join(one.left_out)}" if one.left_out else ""
            self.stdout.write(f"{one.label}, by {one.path}{personal}{left_out}")
        for label, reason in plan.proposal.others:
            self.stdout.write(f"{label} is not proposed: {reason}.")
        if plan.is_by_hand:
            self.stdout.write("ASSISTANT_TENANTS is set already: tenants and settings stay as they are.")
        for note in notes(project):
            self.stdout.write(f"Note: {note}")

    def _undo(self, project: Project, record: Record | None, *, is_agreed: bool) -> None:
        if record is None:
            raise CommandError(f"There is no {RECORD}: nothing is to be taken back.")
        changes: list[Change] = []
        for block in record.blocks:
            try:
                change = removed(project.folder, block, even_if_edited=not is_agreed)
            except EditedBlock as exc:
                raise CommandError(f"{exc} Without --yes you are shown what would be removed.") from exc
            changes += [change] if change is not None else []
        self.stdout.write("\n".join(diff_of(changes)))
        if not is_agreed and not self._asked("Take this back?"):
            self.stdout.write("Nothing was changed.")
            return
        write(project.folder, [*changes, Change(RECORD, None, None)])
        self.stdout.write(self.style.SUCCESS("Taken back. Tables that were migrated are still in the database."))

    def _asked(self, question: str) -> bool:
        try:
            return input(f"{question} [y/N] ").strip().lower() in ("y", "yes")
        except EOFError:
            return False


def _starting(application: str) -> Iterator[str]:
    """Yield the commands that serve an ASGI application, by a server that is installed if there is one."""
    is_complete = all(map(find_spec, _SERVER_PACKAGES))
    other = next((command for package, command in _OTHER_SERVERS.items() if find_spec(package)), "")
    if other and not is_complete:
        yield f"{other} {application} (on a public site uvicorn, which bounds what it reads: docs/production.md)"
        return
    if not is_complete:
        yield 'pip install "tenant-assistant[server]"'
    yield f"uvicorn {application} {_SERVER_OPTIONS}"


def _problem_of(project: Project) -> str:
    """Return why the project does not start any more, as a process of its own sees it; "" if it does."""
    command = [sys.executable, str(project.folder / "manage.py"), "check"]
    done = subprocess.run(  # noqa: S603 - the project's own manage.py  # nosec B603
        command, cwd=project.folder, env=os.environ, capture_output=True, text=True, timeout=_SECONDS, check=False
    )
    return "" if done.returncode == 0 else (done.stderr or done.stdout)[-3000:]
