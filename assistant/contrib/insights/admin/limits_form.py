"""The form of a tenant's limits, with its warnings of spend."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from django import forms
from django.core.validators import validate_email
from django.utils.translation import gettext_lazy as _

from assistant.admin.base.changes import Values
from assistant.admin.limits import FieldGroup, LimitsForm
from assistant.contrib.insights.models import WarningSettings
from assistant.contrib.insights.services.warning_mails import MAX_RECIPIENTS
from assistant.models import TenantLimits

MAX_PARTS = 10
*_FIRST, _LAST = LimitsForm.field_groups


class WarnedLimitsForm(LimitsForm):
    """The limits of a tenant and its warnings.

    `warned_at` and `warned` are texts with the `percentages` and `emails` of `WarningSettings`; without them in the
    data these stay as they are.
    """

    field_groups: ClassVar[Sequence[FieldGroup]] = (
        *_FIRST,
        (_("Warnings of spend"), ("warned_at", "warned")),
        _LAST,
    )

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

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        limits: TenantLimits = kwargs.get("instance") or TenantLimits()
        row = WarningSettings.objects.filter(tenant=limits.tenant_id).first() or WarningSettings()
        self.stored: dict[str, list[Any]] = {"warned_at": row.percentages, "warned": row.emails}
        initial = {name: ", ".join(map(str, values)) for name, values in self.stored.items()}
        super().__init__(
            *args, **kwargs | {"instance": limits, "initial": {**initial, **(kwargs.get("initial") or {})}}
        )

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
        saved: TenantLimits = super().save(commit)
        if commit:
            values = {"percentages": self.cleaned_data["warned_at"], "emails": self.cleaned_data["warned"]}
            WarningSettings.objects.update_or_create(tenant=saved.tenant, defaults=values)
        return saved

    def other_values(self) -> Values:
        return {
            "warned_at": [_text(self.stored["warned_at"]), _text(self.cleaned_data["warned_at"])],
            # Addresses are people's.
            "addresses_warned": [str(len(self.stored["warned"])), str(len(self.cleaned_data["warned"]))],
            **super().other_values(),
        }


def _text(numbers: list[int]) -> str | None:
    return ", ".join(map(str, numbers)) or None


def _words(text: str) -> list[str]:
    return text.replace(",", " ").replace(";", " ").split()
