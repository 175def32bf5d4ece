"""The form field for URLs that this server requests. The forms check them with `UrlGuard`."""

from __future__ import annotations

from typing import Any

from django import forms

from assistant.models.fields import AddressValidator
from assistant.toolkit.text import stripped


class AddressField(forms.URLField):
    """A URL, whose host may lack a dot; the scheme defaults to https, and quotes around it are removed."""

    default_validators = [AddressValidator()]

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(max_length=500, assume_scheme="https", **kwargs)

    def to_python(self, value: Any) -> Any:
        return super().to_python(stripped(value) if isinstance(value, str) else value)
