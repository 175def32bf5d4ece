"""What this app adds to bundles: whether a tenant's members get e-mails about alarms."""

from __future__ import annotations

from django.utils.translation import gettext_lazy as _

from assistant.contrib.bundles.services.format import Part
from assistant.contrib.bundles.services.tenant_row import tenant_row
from assistant.contrib.timed.models import TenantAlarms


class AlarmsPart(Part):
    """What a tenant has set for its members' alarms."""

    are_mailed: bool


PARTS = (tenant_row("alarms", model=TenantAlarms, entry=AlarmsPart, title=_("Alarms")),)
