"""The number of runs and tokens used."""

from __future__ import annotations

from datetime import timedelta
from zoneinfo import ZoneInfo

from django.utils import timezone
from rest_framework.request import Request
from rest_framework.response import Response

from assistant.api.authentication import HttpRefusal
from assistant.api.base import TenantView, validated_query
from assistant.api.serializers import UsageOut, UsageQuery
from assistant.services.limits.usage import usage_lines

DEFAULT_DAYS = 30


class UsageView(TenantView):
    """Runs and tokens, by day, model or assistant."""

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
