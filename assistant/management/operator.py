"""What the product's own commands are made of."""

from __future__ import annotations

from django.core.management.base import BaseCommand

from assistant.services.tenancy import all_tenants


class OperatorCommand(BaseCommand):
    """A command of the deployment's operator, who sees all tenants' rows, whichever project's `manage.py` runs it."""

    execute = all_tenants()(BaseCommand.execute)
