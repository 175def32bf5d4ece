"""What the product's own commands are made of."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandError

from assistant.services.tenancy import row_level_security
from assistant.services.tenancy.row_scope import all_tenants


class OperatorCommand(BaseCommand):
    """A command of the deployment's operator, who sees all tenants' rows, whichever project's `manage.py` runs it.

    It refuses to begin where the database hides them: it would tell of an empty deployment, or leave work half done.
    """

    works_on_tenants = True

    @all_tenants()
    def execute(self, *args: Any, **options: Any) -> str | None:
        if self.works_on_tenants and (found := row_level_security.find_hidden_rows()):
            raise CommandError(" ".join(found))
        return super().execute(*args, **options)
