"""The form of a tenant's limits, on the tab that shows what was used of them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from django import forms
from django.db import transaction
from django.forms import BoundField
from django.http import HttpRequest
from django.utils.functional import Promise
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from assistant.admin.base.changes import changed_values
from assistant.models import Tenant, TenantLimits
from assistant.models.limits import OF_END_USER, OF_MEMBER, OF_TENANT
from assistant.services.limits.quota_ledger import reset_use
from assistant.services.tenancy import audit_trail


class LimitsForm(forms.ModelForm[TenantLimits]):
    """The limits of a tenant. Only operators set those of all members together."""

    class Meta:
        model = TenantLimits
        fields = (*OF_TENANT, *OF_MEMBER, *OF_END_USER)

    def __init__(self, data: Any, *, tenant: Tenant, is_operator: bool) -> None:
        stored: TenantLimits | None = getattr(tenant, "limits", None)
        super().__init__(data, instance=stored or TenantLimits(tenant=tenant))
        for name in () if is_operator else OF_TENANT:
            self.fields[name].disabled = True
        for field in self.fields.values():
            field.help_text = ""

    def groups(self) -> Iterator[tuple[str | Promise, list[BoundField]]]:
        """Yield the fields by whose limits they are."""
        for title, names in (
            (_("All members together"), OF_TENANT),
            (_("Each member"), OF_MEMBER),
            (_("Each end user"), OF_END_USER),
        ):
            yield title, [self[name] for name in names]


@transaction.atomic
def save_limits(request: HttpRequest, tenant: Tenant, form: LimitsForm) -> str:
    """Store the limits, with an entry in the audit trail of what changed. What was used is counted again."""
    if not form.has_changed():
        return gettext("Nothing was changed.")
    values = changed_values([form])
    form.save()
    reset_use(tenant_id=tenant.pk)
    details = {"values": values}
    audit_trail.record(actor=request.user, action="limits.set", target=tenant.slug, tenant=tenant, details=details)
    return gettext("The limits are saved, and hold from the next message on.")
