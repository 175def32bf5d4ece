"""The base class of the app's commands."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandError

from assistant.services.tenancy.row_scope import all_tenants, why_rows_are_hidden


class OperatorCommand(BaseCommand):
    """A command that sees all tenants' rows, in any project's `manage.py`.

    It refuses to run if the database hides rows, because it would report an empty deployment or do half the work.
    Commands that need no tenants' rows set `works_on_tenants` to False.
    """

    works_on_tenants = True

    @all_tenants()
    def execute(self, *args: Any, **options: Any) -> str | None:
        if self.works_on_tenants and (found := why_rows_are_hidden()):
            raise CommandError(" ".join(found))
        return super().execute(*args, **options)
