"""Shared code of the commands that delete, and those that export, a tenant's or a user's data."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

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


def confirm(options: Mapping[str, Any], name: str) -> None:
    """Ask to type the name, unless --noinput was given. Raises `CommandError` if it is not typed."""
    if options["interactive"] and input(f"This cannot be undone. Type {name} to go on: ") != name:
        raise CommandError("Nothing was deleted.")
