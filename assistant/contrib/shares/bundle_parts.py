"""What this app adds to bundles: whether a tenant's members may share conversations."""

from __future__ import annotations

from django.utils.translation import gettext_lazy as _

from assistant.contrib.bundles.services.format import Part
from assistant.contrib.bundles.services.tenant_row import tenant_row
from assistant.contrib.shares.models import TenantSharing


class SharingPart(Part):
    """Whether a tenant's members may share conversations."""

    is_allowed: bool


PARTS = (tenant_row("sharing", model=TenantSharing, entry=SharingPart, title=_("sharing of conversations")),)
