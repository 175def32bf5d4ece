"""Registers pages that are imported when the first page of the admin is asked for, because they need much."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.contrib.admin import AdminSite, ModelAdmin
from django.db.models import Model
from django.utils.functional import SimpleLazyObject
from django.utils.module_loading import import_string


def late_page(name: str) -> Callable[[type[Model], AdminSite], ModelAdmin[Any]]:
    """Return what `AdminSite.register` takes in place of a class of pages.

    Args:
        name: the dotted name of the class.
    """

    def page(model: type[Model], site: AdminSite) -> ModelAdmin[Any]:
        return SimpleLazyObject(lambda: import_string(name)(model, site))  # type: ignore[return-value]  # as if it were

    return page
