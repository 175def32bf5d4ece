"""What the commands that export and delete share: who is meant, who does it, and that they mean it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import IO, Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from assistant.management.arguments import find_user
from assistant.models import EndUser
from assistant.services.tenancy import memberships


def add_actor(parser: CommandParser) -> None:
    parser.add_argument("--by", required=True, metavar="USERNAME", help="Who does it: an operator, for the audit.")


def add_subject(parser: CommandParser) -> None:
    """Arguments that name a user: by their username, or a tenant's end user by the tenant's own id of them."""
    parser.add_argument("username", nargs="?", help="Somebody who signs in.")
    parser.add_argument("--end-user", nargs=2, metavar=("TENANT", "ID"), help="A tenant's end user, by its id of them.")


def find_actor(username: str) -> Any:
    """The operator of that name. Raises `CommandError`."""
    actor = memberships.find_user(username)
    if actor is None or not (actor.is_superuser and actor.is_active):
        raise CommandError(f"--by must name a superuser; {username!r} is none.")
    return actor


def find_subject(options: Mapping[str, Any]) -> Any:
    """The user that the arguments of `add_subject` name. Raises `CommandError`."""
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
    """One line for each kind of row."""
    for label, number in sorted(counts.items()):
        command.stdout.write(f"{number:>8}  {label}")


def write_export(path: Path, export: Callable[[IO[bytes]], dict[str, int]]) -> dict[str, int]:
    """Have `export` write a new file that its owner alone can read. Raises `CommandError` if it cannot be made."""
    try:
        with path.open("xb") as file:
            path.chmod(0o600)
            return export(file)
    except OSError as exc:
        raise CommandError(str(exc)) from exc


def confirm(options: Mapping[str, Any], name: str) -> None:
    """Ask for the name once more, unless told not to. Raises `CommandError` if it is not given."""
    if options["interactive"] and input(f"This cannot be undone. Type {name} to go on: ") != name:
        raise CommandError("Nothing was deleted.")
