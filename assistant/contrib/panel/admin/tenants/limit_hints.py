"""The form of a tenant's limits, with what holds where a field is empty, and what is used now of each limit."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from django.conf import settings
from django.http import HttpRequest
from django.utils.translation import gettext as _

from assistant.admin.limits import LimitsForm, limits_form
from assistant.contrib.panel.services.quota_report import QuotaUsage, use_of_tenant
from assistant.core.values.quota_kinds import NAMES
from assistant.models import Tenant


def hinted_form(request: HttpRequest, tenant: Tenant, data: Any) -> LimitsForm:
    """Return the user's form of a tenant's limits, filled with `data` if it was sent."""
    form = limits_form(request, tenant, data)
    _add_inherited(form, "tenant", settings.ASSISTANT_TENANT_LIMITS, _("no limit"))
    _add_inherited(form, "member", settings.ASSISTANT_MEMBER_LIMITS, _("no limit"))
    _add_inherited(form, "end_user", settings.ASSISTANT_END_USER_LIMITS, _("as a member"))
    _add_used(form, use_of_tenant(tenant=tenant))
    return form


def _add_inherited(form: LimitsForm, prefix: str, limits: Mapping[str, float], otherwise: str) -> None:
    """Show in empty fields the deployment's limits, which hold then."""
    for name in NAMES:
        field = form.fields.get(f"{prefix}_{name}")
        if field is not None:
            inherited = limits.get(name)
            field.widget.attrs["placeholder"] = f"{inherited:,g}" if inherited else otherwise


def _add_used(form: LimitsForm, use: Iterable[QuotaUsage]) -> None:
    """Say below the fields of the limits of all members together what is used of those that are set."""
    for line in use:
        field = form.fields.get(f"tenant_{line.key}")
        if field is not None:
            field.help_text = _("%(used)s of %(limit)s used now") % {"used": line.used, "limit": line.limit}
