"""The form field of URLs that this server opens; `UrlGuard` decides whether it may."""

from __future__ import annotations

from typing import Any

from django import forms

from assistant.models.fields import AddressValidator


class AddressField(forms.URLField):
    """A URL, also on a host without a dot; the scheme defaults to https."""

    default_validators = [AddressValidator()]

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(max_length=500, assume_scheme="https", **kwargs)
