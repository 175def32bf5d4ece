"""`manage.py assistant_refresh_sources`: reads a tenant's folders and websites now, with a line about each page."""

from __future__ import annotations

import asyncio
from typing import Any

from django.core.management.base import CommandError, CommandParser

from assistant.contrib.sources.models import Source
from assistant.contrib.sources.services.refreshing import refresh
from assistant.management.arguments import find_tenant
from assistant.management.operator import OperatorCommand


class Command(OperatorCommand):
    help = (
        "Read a tenant's folders and websites that are switched on, now, and say what was added, replaced, removed and "
        "skipped. Servers do the same on schedule. Exits with 1 if one could not be read."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("tenant", help="The tenant's slug.")
        parser.add_argument("--place", default="", help="Only the one with this address or folder.")

    def handle(self, *args: Any, **options: Any) -> None:
        tenant = find_tenant(options["tenant"])
        rows = Source.objects.filter(tenant=tenant, is_on=True).order_by("place")
        sources = [row for row in rows if options["place"] in ("", row.place)]
        if not sources:
            raise CommandError("There is no such folder or website that is switched on.")
        failed = 0
        for source in sources:
            self.stdout.write(source.place)
            ended = asyncio.run(self._refresh(tenant.pk, source.pk))
            if ended is not None:
                counts = ", ".join(f"{count} {outcome}" for outcome, count in ended.report["counts"].items())
                self.stdout.write(f"  {counts or 'Nothing'}. {ended.problem}".rstrip())
                failed += ended.state == Source.State.FAILED
        if failed:
            raise CommandError(f"{failed} of {len(sources)} could not be read.", returncode=1)

    async def _refresh(self, tenant_id: int, source_id: int) -> Source | None:
        async def renew() -> bool:
            return True

        def tell(line: Any) -> None:
            if line.outcome != "unchanged":
                self.stdout.write(f"  {line.outcome:<9} {line.address}: {line.about}")

        return await refresh(tenant_id=tenant_id, source_id=source_id, renew=renew, tell=tell)
