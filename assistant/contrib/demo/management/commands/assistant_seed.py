"""`manage.py assistant_seed`: fills a database for measurements and demonstrations with rows that look used."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.core.management.base import CommandError, CommandParser
from django.utils import timezone

from assistant.contrib.demo.seeds.rows import PREFIX, seed
from assistant.management.operator import OperatorCommand
from assistant.models import Tenant

MAX_TENANTS = 5_000
MAX_DAYS = 730
MAX_RUNS = 10_000_000


class Command(OperatorCommand):
    help = "Create tenants with people, assistants, conversations and use, for measurements and demonstrations."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--tenants", type=int, default=30)
        parser.add_argument("--days", type=int, default=60, help="How far back the use goes.")
        parser.add_argument("--runs", type=int, help="Of all tenants together, at least. The first has the most.")
        parser.add_argument("--seed", type=int, default=1, help="The same number makes the same rows.")
        parser.add_argument("--force", action="store_true", help="Also where DEBUG is false.")

    def handle(self, *args: Any, **options: Any) -> None:
        tenants = options["tenants"]
        days = options["days"]
        runs = options["runs"]
        if not (1 <= tenants <= MAX_TENANTS and 1 <= days <= MAX_DAYS and 0 <= (runs or 0) <= MAX_RUNS):
            raise CommandError(f"--tenants is 1 to {MAX_TENANTS}, --days 1 to {MAX_DAYS}, --runs up to {MAX_RUNS:,}.")
        if not (settings.DEBUG or options["force"]):
            raise CommandError("DEBUG is false, so this may be a deployment. With --force it is filled nevertheless.")
        if Tenant.objects.filter(slug__startswith=f"{PREFIX}-").exists():
            raise CommandError("This database was filled before. Delete its tenants, or use another database.")
        made = seed(tenants=tenants, days=days, number=options["seed"], now=timezone.now(), runs=runs)
        for name, number in made.items():
            self.stdout.write(f"{number} {name}")
