"""The form field of addresses that this server opens; whether it may is the guard's to judge."""

from __future__ import annotations

from typing import Any

from django import forms

from assistant.models.fields import AddressValidator


class AddressField(forms.URLField):
    """A URL, on a host of one word too; without a scheme it is https."""

    default_validators = [AddressValidator()]

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(max_length=500, assume_scheme="https", **kwargs)
