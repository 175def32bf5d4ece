"""Fields that secrets go into and never come out of, not even of a form that is shown again for a mistake in it."""

from __future__ import annotations

from typing import Any

from django import forms

AGAIN = "Give it again: what was entered is not shown, and was not kept."


class SecretTextarea(forms.Textarea):
    """A field of several lines that shows nothing that was entered, as a password's field does."""

    def __init__(self) -> None:
        super().__init__(attrs={"rows": 3, "cols": 60, "autocomplete": "off"})

    def format_value(self, value: Any) -> None:
        return None


def ask_again(form: forms.BaseForm) -> None:
    """If a form is refused, say so at each secret in it: an empty field would keep the old one, without a word."""
    if not form.is_bound or not form.errors:
        return
    for name, field in form.fields.items():
        is_secret = isinstance(field.widget, SecretTextarea | forms.PasswordInput)
        if is_secret and form.cleaned_data.get(name):
            form.add_error(name, AGAIN)
