"""The form of a tenant's limits and of the model above the soft threshold."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, ClassVar, cast

from django.db import transaction
from django.db.models import Q
from django.forms import BoundField
from django.http import HttpRequest
from django.utils.functional import Promise
from django.utils.module_loading import import_string
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from assistant.admin.base.changes import Values, changed_values
from assistant.admin.base.filters import TENANT
from assistant.admin.base.merging import LastSave, MergingForm, last_entry
from assistant.admin.base.names import LIMIT_GROUPS
from assistant.admin.base.tenant_scope import TenantScopedAdmin
from assistant.admin.base.visible_tenants import is_operator
from assistant.models import Provider, Tenant, TenantLimits
from assistant.models.limits import OF_ATTACHMENT_SPACE, OF_ATTACHMENTS, OF_END_USER, OF_MEMBER, OF_TENANT
from assistant.services.limits.quota_ledger import reset_use
from assistant.services.tenancy import audit_trail
from assistant.services.tenancy.limits_form import form_name

SOFT = ("soft_percent", "soft_provider", "soft_model")
FieldGroup = tuple[str | Promise, tuple[str, ...]]


class LimitsForm(MergingForm):
    """The limits of a tenant. Only operators set those of all members together.

    Attributes:
        field_groups: a title and names of fields for each group.
    """

    is_operator = False
    field_groups: ClassVar[Sequence[FieldGroup]] = (
        *LIMIT_GROUPS,
        (_("Another model above a part of the limit of cost a month"), SOFT),
    )

    class Meta:
        model = TenantLimits
        fields = (*OF_TENANT, *OF_MEMBER, *OF_END_USER, *OF_ATTACHMENTS, *SOFT)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        limits: TenantLimits = kwargs.get("instance") or TenantLimits()
        super().__init__(*args, **kwargs | {"instance": limits})
        fields: dict[str, Any] = self.fields
        for name in () if self.is_operator else (*OF_TENANT, *OF_ATTACHMENT_SPACE):
            fields[name].disabled = True
        for name in (*OF_TENANT, *OF_MEMBER, *OF_END_USER, *OF_ATTACHMENT_SPACE, "attachments_per_message"):
            fields[name].help_text = ""
        # Providers of the deployment can be chosen by name; their keys are not read.
        own = Provider.objects.filter(Q(tenant=None) | Q(tenant=limits.tenant_id)).defer("api_key").order_by("name")
        fields["soft_provider"].queryset = own

    def last_save(self) -> LastSave | None:
        return last_entry(tenant=self.instance.tenant, actions=["limits.set"])

    def groups(self) -> Iterator[tuple[str | Promise, list[BoundField]]]:
        """Yield the fields by whose limits they are."""
        for title, names in self.field_groups:
            yield title, [self[name] for name in names]

    def other_values(self) -> Values:
        """Return what else was changed, before and after: models and providers by name."""
        before = self.initial
        after = self.cleaned_data
        provider = cast(Any, self.fields["soft_provider"]).queryset.filter(pk=before["soft_provider"]).first()
        return {
            "soft_provider": [None if one is None else str(one) for one in (provider, after["soft_provider"])],
            "soft_model": [before["soft_model"] or None, after["soft_model"] or None],
        }


def _form() -> type[LimitsForm]:
    return cast(type[LimitsForm], import_string(form_name()))


def form_for(request: HttpRequest) -> type[LimitsForm]:
    """Return the class of the user's form."""
    form = _form()
    # The metaclass of forms, which typeshed does not know as one.
    metaclass: Any = type(form)
    own = metaclass(form.__name__, (form,), {"is_operator": is_operator(request), "__module__": __name__})
    return cast(type[LimitsForm], own)


def limits_form(request: HttpRequest, tenant: Tenant, data: Any) -> LimitsForm:
    """Return the user's form of a tenant's limits, filled with `data` if it was sent."""
    return form_for(request)(data, instance=getattr(tenant, "limits", None) or TenantLimits(tenant=tenant))


@transaction.atomic
def save_limits(request: HttpRequest, tenant: Tenant, form: LimitsForm) -> str:
    """Store the limits, with an entry in the audit trail of what changed. What was used is counted again."""
    if not form.has_changed():
        return gettext("Nothing was changed.")
    others = {name: pair for name, pair in form.other_values().items() if pair[0] != pair[1]}
    values = {**changed_values([form]), **others}
    form.save()
    reset_use(tenant_id=tenant.pk)
    details = {"values": values}
    audit_trail.record(actor=request.user, action="limits.set", target=tenant.slug, tenant=tenant, details=details)
    return gettext("The limits are saved, and hold from the next message on.")


class TenantLimitsAdmin(TenantScopedAdmin):
    """The limits of tenants."""

    possible_actions = frozenset({"view", "add", "change"})
    audited_by_services = frozenset({"add", "change"})
    list_display = ("tenant", "tenant_cost_per_month", "tenant_messages_per_day")
    list_filter = (TENANT,)
    search_fields = ("tenant__name", "tenant__slug")
    list_select_related = ("tenant",)

    @property
    def fieldsets(self) -> Any:  # type: ignore[override]  # the form of an app is known only after this class
        groups = ((title, {"fields": names}) for title, names in _form().field_groups)
        return ((None, {"fields": ("tenant",)}), *groups)

    def get_form(self, request: HttpRequest, obj: Any = None, change: bool = False, **kwargs: Any) -> Any:
        return super().get_form(request, obj, change, **kwargs | {"form": form_for(request)})

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> tuple[str, ...]:
        return () if obj is None else ("tenant",)

    def save_model(self, request: HttpRequest, obj: Any, form: Any, change: bool) -> None:
        save_limits(request, obj.tenant, form)
