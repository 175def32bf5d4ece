"""`manage.py assistant_sum_days`: makes the daily sums of quality now, or makes them anew."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from django.core.management.base import CommandParser
from django.utils import timezone

from assistant.contrib.insights.services.day_sums import sum_day
from assistant.contrib.insights.services.summing import days_with_runs
from assistant.contrib.insights.services.warnings import record_warnings
from assistant.management.arguments import find_tenant
from assistant.management.operator import OperatorCommand
from assistant.models import Tenant

MAX_DAYS = 3_660


class Command(OperatorCommand):
    help = "Make the daily sums of the quality of answers from the runs that are there."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("tenant", nargs="?", metavar="TENANT", help="By default all tenants.")
        parser.add_argument("--days", type=int, default=90, help="How far back, at most 3660.")
        parser.add_argument(
            "--replace", action="store_true", help="Also sums of days some of whose runs were deleted since."
        )

    def handle(self, *args: Any, **options: Any) -> None:
        now = timezone.now()
        first = (now - timedelta(days=max(0, min(options["days"], MAX_DAYS)))).date()
        tenants = [find_tenant(options["tenant"])] if options["tenant"] else Tenant.objects.order_by("pk").iterator()
        for tenant in tenants:
            days = days_with_runs(tenant_id=tenant.pk, first=first)
            runs = sum(sum_day(tenant_id=tenant.pk, day=day, keeps_larger=not options["replace"]) for day in days)
            record_warnings(tenant_id=tenant.pk, now=now)
            self.stdout.write(f"{tenant.slug}: {len(days)} days, {runs} runs")
