"""The number of runs and tokens used."""

from __future__ import annotations

from datetime import timedelta
from zoneinfo import ZoneInfo

from django.utils import timezone
from rest_framework.request import Request
from rest_framework.response import Response

from assistant.api.authentication import HttpRefusal
from assistant.api.base import TenantView, validated_query
from assistant.api.openapi import operation
from assistant.api.serializers import UsageOut, UsageQuery
from assistant.services.limits.usage import usage_lines

DEFAULT_DAYS = 30
LINE = {
    "name": "2026-11-21",
    "runs": 3,
    "input_tokens": 2400,
    "output_tokens": 310,
    "cached_input_tokens": 0,
    "cache_write_tokens": 0,
    "reasoning_tokens": 0,
}


class UsageView(TenantView):
    """Runs and tokens, by day, model or assistant."""

    @operation(
        "Read the usage",
        query=UsageQuery,
        responses={200: (UsageOut, {"since": "2026-11-01", "until": "2026-11-21", "results": [LINE]})},
        tag="usage",
        description="The caller's own or, for its admins, the whole tenant's, by days of the tenant's time zone.",
    )
    def get(self, request: Request) -> Response:
        query = validated_query(UsageQuery, request)
        today = timezone.now().astimezone(ZoneInfo(self.member.tenant.timezone)).date()
        until = query.get("until") or today
        since = query.get("since") or today - timedelta(days=DEFAULT_DAYS)
        of_tenant = query["whose"] == "tenant"
        if of_tenant and not self.member.is_admin:
            raise HttpRefusal(403, "forbidden", "Only the tenant's admins may see the tenant's usage.")
        lines = usage_lines(member=self.member, since=since, until=until, by=query["by"], of_tenant=of_tenant)
        return Response(UsageOut({"since": since, "until": until, "results": lines}).data)
