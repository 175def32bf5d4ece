"""Forms of optional apps on the page of a person's own settings."""

from __future__ import annotations

from typing import Any

from django.forms import ModelForm
from django.utils.module_loading import import_string

_makers: list[str] = []


def ask_for(maker: str) -> None:
    """Ask for more on the page of a person's own settings.

    Args:
        maker: the dotted name of a function that takes the person and the fields of a posted form, or None to show what
            is stored. It returns a bound or unbound form with a prefix of its own, or None to ask nothing.
    """
    _makers.append(maker)


def forms_of(user: Any, data: Any) -> list[ModelForm[Any]]:
    """Return the forms of all apps for a person."""
    made = (import_string(maker)(user, data) for maker in _makers)
    return [form for form in made if form is not None]
