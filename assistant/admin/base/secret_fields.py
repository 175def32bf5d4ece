"""Write-only form fields for secrets, which are empty even when a form is shown again."""

from __future__ import annotations

from typing import Any

from django import forms
from django.utils.translation import gettext_lazy

REENTER = gettext_lazy("Enter it again: the value you entered was not saved.")


class SecretTextarea(forms.Textarea):
    """A textarea that never renders its value, as `PasswordInput` does."""

    def __init__(self) -> None:
        super().__init__(attrs={"rows": 3, "cols": 60, "autocomplete": "off"})

    def format_value(self, value: Any) -> None:
        return None


def ask_again(form: forms.BaseForm) -> None:
    """Add an error to each secret entered in an invalid form: its field is empty when the form is shown again."""
    if not form.is_bound or not form.errors:
        return
    for name, field in form.fields.items():
        is_secret = isinstance(field.widget, SecretTextarea | forms.PasswordInput)
        if is_secret and form.cleaned_data.get(name):
            form.add_error(name, REENTER)
