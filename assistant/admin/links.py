"""Links from one row's page to another's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from urllib.parse import urlencode

from django.contrib import admin
from django.contrib.auth import get_user_model
from django.db.models import Model
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString


def person(field: str) -> Callable[[Any, Any], str]:
    """A column or field that names a user; the page of a user is not every admin's to open, so it is no link."""

    def named(_admin: Any, row: Any) -> str:
        user = getattr(row, field)
        return "—" if user is None else str(user)

    return admin.display(description=field.replace("_", " "), ordering=field)(named)


def username(path: str) -> str:
    """The look-up of what people sign in with, on the user that `path` leads to."""
    return f"{path}__{get_user_model().USERNAME_FIELD}"


def link(row: Model | None, text: object = None) -> SafeString | str:
    """A link to a row's page, named after the row unless a text is given; a dash for no row."""
    if row is None:
        return "—"
    url = reverse(f"admin:{row._meta.app_label}_{row._meta.model_name}_change", args=[row.pk])
    return format_html('<a href="{}">{}</a>', url, str(row) if text is None else text)


def link_to_list(model: type[Model], text: object, **filters: object) -> SafeString:
    """A link to the rows of a model that match."""
    url = reverse(f"admin:{model._meta.app_label}_{model._meta.model_name}_changelist")
    return format_html('<a href="{}?{}">{}</a>', url, urlencode(filters), text)
