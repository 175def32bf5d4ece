"""The form of a tenant's limits, of its warnings of spend and of the model above the soft threshold."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar, cast

from django import forms
from django.core.validators import validate_email
from django.db import transaction
from django.db.models import Q
from django.forms import BoundField
from django.http import HttpRequest
from django.utils.functional import Promise
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
from assistant.services.tenancy.warning_mails import MAX_RECIPIENTS

WARNINGS = ("warned_at", "warned")
SOFT = ("soft_percent", "soft_provider", "soft_model")
GROUPS: tuple[tuple[str | Promise, tuple[str, ...]], ...] = (
    *LIMIT_GROUPS,
    (_("Warnings of spend"), WARNINGS),
    (_("Another model above a part of the limit of cost a month"), SOFT),
)
MAX_PARTS = 10


class LimitsForm(MergingForm):
    """The limits of a tenant. Only operators set those of all members together.

    `warned_at` and `warned` are texts with `warning_percentages` and `warning_emails`; without them in the data these
    stay as they are.
    """

    is_operator = False
    warned_at = forms.CharField(
        label=_("Warn at (%)"),
        max_length=100,
        required=False,
        help_text=_("Parts of the limit of cost a month, such as 50, 80, 100; each is told once a month. Empty: none."),
    )
    warned = forms.CharField(
        label=_("By e-mail to"),
        max_length=1_000,
        required=False,
        help_text=_("Addresses. Empty: the owners. Webhooks get the event spend.threshold."),
    )

    class Meta:
        model = TenantLimits
        fields = (*OF_TENANT, *OF_MEMBER, *OF_END_USER, *OF_ATTACHMENTS, *SOFT)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        limits: TenantLimits = kwargs.get("instance") or TenantLimits()
        self.stored: dict[str, list[Any]] = {"warned_at": limits.warning_percentages, "warned": limits.warning_emails}
        texts = {name: ", ".join(map(str, values)) for name, values in self.stored.items()}
        super().__init__(*args, **kwargs | {"instance": limits, "initial": {**texts, **(kwargs.get("initial") or {})}})
        fields: dict[str, Any] = self.fields
        for name in () if self.is_operator else (*OF_TENANT, *OF_ATTACHMENT_SPACE):
            fields[name].disabled = True
        for name in (*OF_TENANT, *OF_MEMBER, *OF_END_USER, *OF_ATTACHMENT_SPACE, "attachments_per_message"):
            fields[name].help_text = ""
        # Providers of the deployment can be chosen by name; their keys are not read.
        own = Provider.objects.filter(Q(tenant=None) | Q(tenant=limits.tenant_id)).defer("api_key").order_by("name")
        fields["soft_provider"].queryset = own

    def clean_warned_at(self) -> list[int]:
        """Return the percentages, ascending and each once."""
        if self.add_prefix("warned_at") not in self.data:
            return self.stored["warned_at"]
        words = _words(self.cleaned_data["warned_at"].replace("%", " "))
        if not all(word.isascii() and word.isdigit() and 1 <= int(word[:4]) <= 100 for word in words):
            raise forms.ValidationError(_("Enter whole numbers from 1 to 100, separated by commas."))
        if len(words) > MAX_PARTS:
            raise forms.ValidationError(_("Enter at most %(most)s."), params={"most": MAX_PARTS})
        return sorted({int(word) for word in words})

    def clean_warned(self) -> list[str]:
        """Return the addresses."""
        if self.add_prefix("warned") not in self.data:
            return self.stored["warned"]
        words = list(dict.fromkeys(_words(self.cleaned_data["warned"])))
        if len(words) > MAX_RECIPIENTS:
            raise forms.ValidationError(_("Enter at most %(most)s."), params={"most": MAX_RECIPIENTS})
        for word in words:
            validate_email(word)
        return words

    def save(self, commit: bool = True) -> TenantLimits:
        self.instance.warning_percentages = self.cleaned_data["warned_at"]
        self.instance.warning_emails = self.cleaned_data["warned"]
        saved: TenantLimits = super().save(commit)
        return saved

    def last_save(self) -> LastSave | None:
        return last_entry(tenant=self.instance.tenant, actions=["limits.set"])

    def groups(self) -> Iterator[tuple[str | Promise, list[BoundField]]]:
        """Yield the fields by whose limits they are."""
        for title, names in GROUPS:
            yield title, [self[name] for name in names]


class OperatorsLimitsForm(LimitsForm):
    """The same for operators."""

    is_operator = True


def form_for(request: HttpRequest) -> type[LimitsForm]:
    """Return the class of the user's form."""
    return OperatorsLimitsForm if is_operator(request) else LimitsForm


def limits_form(request: HttpRequest, tenant: Tenant, data: Any) -> LimitsForm:
    """Return the user's form of a tenant's limits, filled with `data` if it was sent."""
    return form_for(request)(data, instance=getattr(tenant, "limits", None) or TenantLimits(tenant=tenant))


@transaction.atomic
def save_limits(request: HttpRequest, tenant: Tenant, form: LimitsForm) -> str:
    """Store the limits, with an entry in the audit trail of what changed. What was used is counted again."""
    if not form.has_changed():
        return gettext("Nothing was changed.")
    values = {**changed_values([form]), **_other_values(form)}
    form.save()
    reset_use(tenant_id=tenant.pk)
    details = {"values": values}
    audit_trail.record(actor=request.user, action="limits.set", target=tenant.slug, tenant=tenant, details=details)
    return gettext("The limits are saved, and hold from the next message on.")


def _other_values(form: LimitsForm) -> Values:
    """Return what else was changed, before and after: models and providers by name, addresses by their number."""
    before, after = form.initial, form.cleaned_data
    provider = cast(Any, form.fields["soft_provider"]).queryset.filter(pk=before["soft_provider"]).first()
    pairs: Values = {
        "warned_at": [_text(form.stored["warned_at"]), _text(after["warned_at"])],
        # Addresses are people's.
        "addresses_warned": [str(len(form.stored["warned"])), str(len(after["warned"]))],
        "soft_provider": [None if one is None else str(one) for one in (provider, after["soft_provider"])],
        "soft_model": [before["soft_model"] or None, after["soft_model"] or None],
    }
    return {name: pair for name, pair in pairs.items() if pair[0] != pair[1]}


def _text(numbers: list[int]) -> str | None:
    return ", ".join(map(str, numbers)) or None


def _words(text: str) -> list[str]:
    return text.replace(",", " ").replace(";", " ").split()


class TenantLimitsAdmin(TenantScopedAdmin):
    """The limits of tenants."""

    possible_actions = frozenset({"view", "add", "change"})
    audited_by_services = frozenset({"add", "change"})
    list_display = ("tenant", "tenant_cost_per_month", "tenant_messages_per_day")
    list_filter = (TENANT,)
    search_fields = ("tenant__name", "tenant__slug")
    list_select_related = ("tenant",)
    fieldsets: ClassVar[Any] = (
        (None, {"fields": ("tenant",)}),
        *((title, {"fields": names}) for title, names in GROUPS),
    )

    def get_form(self, request: HttpRequest, obj: Any = None, change: bool = False, **kwargs: Any) -> Any:
        return super().get_form(request, obj, change, **kwargs | {"form": form_for(request)})

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> tuple[str, ...]:
        return () if obj is None else ("tenant",)

    def save_model(self, request: HttpRequest, obj: Any, form: Any, change: bool) -> None:
        save_limits(request, obj.tenant, form)
