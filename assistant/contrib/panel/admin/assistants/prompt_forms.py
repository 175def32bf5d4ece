"""The form fields of prompts: their text with its variables, and the moments of publications."""

from __future__ import annotations

from datetime import datetime
from zoneinfo import ZoneInfo

from django import forms
from django.core.exceptions import ValidationError
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from assistant.admin.prompts import cleaned_prompt
from assistant.contrib.panel.services.prompt_editor import Typed
from assistant.models import PromptVersion, Tenant

MAX_PROMPT = 100_000
_MAX_LABEL = PromptVersion._meta.get_field("label").max_length
_MAX_NOTE = PromptVersion._meta.get_field("note").max_length


class EditorForm(forms.Form):
    """A prompt's text, note and label, with the draft that the editor began with."""

    text = forms.CharField(
        label=gettext_lazy("Prompt"),
        max_length=MAX_PROMPT,
        strip=False,
        widget=forms.Textarea(attrs={"rows": 18, "spellcheck": "true"}),
    )
    label = forms.CharField(
        label=gettext_lazy("Label"),
        max_length=_MAX_LABEL,
        required=False,
        widget=forms.TextInput(attrs={"placeholder": gettext_lazy("such as: before sale")}),
    )
    note = forms.CharField(label=gettext_lazy("What this version changes"), max_length=_MAX_NOTE, required=False)
    draft = forms.IntegerField(required=False, widget=forms.HiddenInput)
    seen = forms.CharField(max_length=64, required=False, widget=forms.HiddenInput)

    def __init__(self, *args: object, tenant_id: int, **kwargs: object) -> None:
        super().__init__(*args, **kwargs)  # type: ignore[arg-type]
        self._tenant_id = tenant_id

    def clean_text(self) -> str:
        text: str = self.cleaned_data["text"]
        if not text.strip():
            raise ValidationError(_("Write a prompt first."))
        return cleaned_prompt(text, tenant_id=self._tenant_id)

    def typed(self) -> Typed:
        """Return what was typed into a valid form."""
        values = self.cleaned_data
        return Typed(values["text"], values["note"], values["label"], values["draft"], values["seen"])


def moment_in(text: str, *, tenant: Tenant) -> datetime:
    """Return the moment that was entered as a date and time of the tenant's zone. Raises `ValidationError`."""
    field = forms.DateTimeField(input_formats=["%Y-%m-%dT%H:%M", "%Y-%m-%dT%H:%M:%S", "%Y-%m-%d %H:%M"])
    with timezone.override(ZoneInfo(tenant.timezone)):
        moment: datetime = field.clean(text.strip()[:40])
    return moment
