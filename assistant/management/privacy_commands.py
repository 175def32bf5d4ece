"""Shared code of the commands that export and delete a tenant's or a user's data."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import IO, Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from assistant.management.arguments import find_user
from assistant.models import EndUser
from assistant.services.tenancy import memberships


def add_actor(parser: CommandParser) -> None:
    """Add `--by`, the superuser that the audit trail names."""
    parser.add_argument(
        "--by", required=True, metavar="USERNAME", help="The superuser who runs it, for the audit trail."
    )


def add_subject(parser: CommandParser) -> None:
    """Add arguments for a user: a username, or a tenant's end user by the tenant's own id."""
    parser.add_argument("username", nargs="?", help="A user who signs in.")
    parser.add_argument("--end-user", nargs=2, metavar=("TENANT", "ID"), help="An end user, by the tenant's own id.")


def find_actor(username: str) -> Any:
    """Return the superuser with that name. Raises `CommandError` if there is none."""
    actor = memberships.find_user(username)
    if actor is None or not (actor.is_superuser and actor.is_active):
        raise CommandError(f"--by must name a superuser; {username!r} is not one.")
    return actor


def find_subject(options: Mapping[str, Any]) -> Any:
    """Return the user that the arguments of `add_subject` name. Raises `CommandError`."""
    if bool(options["username"]) == bool(options["end_user"]):
        raise CommandError("Name a user, or an end user with --end-user TENANT ID.")
    if options["username"]:
        return find_user(options["username"])
    slug, external_id = options["end_user"]
    found = EndUser.objects.filter(tenant__slug=slug, external_id=external_id).select_related("user").first()
    if found is None:
        raise CommandError(f"The tenant {slug!r} has no end user {external_id!r}.")
    return found.user


def show(command: BaseCommand, counts: Mapping[str, int]) -> None:
    """Print the number of rows of each kind."""
    for label, number in sorted(counts.items()):
        command.stdout.write(f"{number:>8}  {label}")


def write_export(path: Path, export: Callable[[IO[bytes]], dict[str, int]]) -> dict[str, int]:
    """Let `export` write a new file that only its owner can read. Raises `CommandError` if that fails."""
    try:
        with path.open("xb") as file:
            path.chmod(0o600)
            return export(file)
    except OSError as exc:
        raise CommandError(str(exc)) from exc


def confirm(options: Mapping[str, Any], name: str) -> None:
    """Ask to type the name, unless --noinput was given. Raises `CommandError` if it is not typed."""
    if options["interactive"] and input(f"This cannot be undone. Type {name} to go on: ") != name:
        raise CommandError("Nothing was deleted.")
