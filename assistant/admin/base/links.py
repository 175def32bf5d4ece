"""Links between admin pages, columns with user names, and JSON for reading."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any
from urllib.parse import urlencode

from django.contrib import admin
from django.contrib.auth import get_user_model
from django.db.models import Model
from django.template.loader import select_template
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext_lazy

from assistant.admin.base.names import name_of
from assistant.admin.base.own_addresses import reverse
from assistant.models import Assistant
from assistant.toolkit.bounded_json import load_json


def base_template() -> Any:
    """Return what an app's own pages extend: the base of the control panel if it is installed, else the admin's."""
    return select_template(["admin/assistant/base.html", "admin/base_site.html"])


def user_column(field: str) -> Callable[[Any, Any], str]:
    """Return a column with a user's name; not a link, since users' pages are for operators only."""

    def named(_admin: Any, row: Any) -> str:
        user = getattr(row, field)
        return "—" if user is None else str(user)

    return admin.display(description=name_of(field), ordering=field)(named)


def assistant_label(assistant: Assistant) -> str:
    """Return an assistant's name with its tenant and slug, because many tenants have one of the same name."""
    return f"{assistant.name} ({assistant.tenant.slug}/{assistant.slug})"


@admin.display(description=gettext_lazy("assistant"), ordering="assistant__name")
def assistant_column(row: Any) -> str:
    """Return the column of a row's assistant; the list selects `assistant__tenant`."""
    return assistant_label(row.assistant)


def username(path: str) -> str:
    """Return the lookup of the user name field, through the relation `path`."""
    return f"{path}__{get_user_model().USERNAME_FIELD}"


def link(row: Model | None, text: object = None) -> SafeString | str:
    """Return a link to a row's page, labelled with `text` or the row's name; a dash for None."""
    if row is None:
        return "—"
    return link_to_row(type(row), row.pk, str(row) if text is None else text)


def link_to_row(model: type[Model], pk: object, text: object) -> SafeString | str:
    """Return a link to the page of a row by its primary key; the bare text, or a dash, without one."""
    if pk is None:
        return str(text or "—")
    url = reverse(f"admin:{model._meta.app_label}_{model._meta.model_name}_change", args=[pk])
    return format_html('<a href="{}">{}</a>', url, text)


def link_to_list(model: type[Model], text: object, **filters: object) -> SafeString:
    """Return a link to the model's list with these filters."""
    url = reverse(f"admin:{model._meta.app_label}_{model._meta.model_name}_changelist")
    return format_html('<a href="{}?{}">{}</a>', url, urlencode(filters), text)


def pretty(text: str) -> SafeString:
    """Return a text as HTML, indented if it is JSON."""
    try:
        shown = json.dumps(load_json(text), indent=2, ensure_ascii=False)
    except ValueError:
        shown = text
    return format_html("<pre>{}</pre>", shown)
