"""Shared code of the commands that export and delete a tenant's or a user's data."""

from __future__ import annotations

import os
import uuid
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import IO, Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from assistant.management.arguments import find_user
from assistant.services.tenancy import memberships
from assistant.services.tenancy.end_users import are_identified, directory


def add_actor(parser: CommandParser) -> None:
    """Add `--by`, the superuser that the audit trail names."""
    parser.add_argument(
        "--by", required=True, metavar="USERNAME", help="The superuser who runs it, for the audit trail."
    )


def add_subject(parser: CommandParser) -> None:
    """Add arguments for a user: a username, or a tenant's end user by the tenant's own id, if there can be any."""
    parser.add_argument("username", nargs="?", help="A user who signs in.")
    if are_identified():
        help_text = "An end user, by the tenant's own id."
        parser.add_argument("--end-user", nargs=2, metavar=("TENANT", "ID"), help=help_text)


def find_actor(username: str) -> Any:
    """Return the superuser with that name. Raises `CommandError` if there is none."""
    actor = memberships.find_user(username)
    if actor is None or not (actor.is_superuser and actor.is_active):
        raise CommandError(f"--by must name a superuser; {username!r} is not one.")
    return actor


def find_subject(options: Mapping[str, Any]) -> Any:
    """Return the user that the arguments of `add_subject` name. Raises `CommandError`."""
    end_user = options.get("end_user")
    if bool(options["username"]) == bool(end_user):
        others = ", or an end user with --end-user TENANT ID" if are_identified() else ""
        raise CommandError(f"Name a user{others}.")
    if not end_user:
        return find_user(options["username"])
    slug, external_id = end_user
    user = directory().find_user(tenant_slug=slug, external_id=external_id)
    if user is None:
        raise CommandError(f"The tenant {slug!r} has no end user {external_id!r}.")
    return user


def show(command: BaseCommand, counts: Mapping[str, int]) -> None:
    """Print the number of rows of each kind."""
    for label, number in sorted(counts.items()):
        command.stdout.write(f"{number:>8}  {label}")


def write_export(path: Path, export: Callable[[IO[bytes]], dict[str, int]]) -> dict[str, int]:
    """Let `export` write a new file that only its owner can read; after a failure there is none.

    Raises:
        CommandError: the file exists already or cannot be written.
    """
    unfinished = path.with_name(f".{path.name}.{uuid.uuid4().hex}.part")
    try:
        if path.exists():
            raise FileExistsError(f"The file {path} exists already.")
        with unfinished.open("xb") as file:
            unfinished.chmod(0o600)
            counts = export(file)
            file.flush()
            os.fsync(file.fileno())
        # Unlike `rename`, this does not replace a file that was made meanwhile.
        os.link(unfinished, path)
    except OSError as exc:
        raise CommandError(str(exc)) from exc
    finally:
        unfinished.unlink(missing_ok=True)
    return counts


def confirm(options: Mapping[str, Any], name: str) -> None:
    """Ask to type the name, unless --noinput was given. Raises `CommandError` if it is not typed."""
    if options["interactive"] and input(f"This cannot be undone. Type {name} to go on: ") != name:
        raise CommandError("Nothing was deleted.")
