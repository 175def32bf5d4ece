"""Puts the panel's page of a model into the place of the plain one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from django.contrib import admin
from django.db.models import Model

PageT = TypeVar("PageT", bound=type[admin.ModelAdmin[Any]])


def replace(model: type[Model]) -> Callable[[PageT], PageT]:
    """Return a decorator that registers a page, as `admin.register` does, for a model that has a plain page already.

    A page that the project has registered stays.
    """

    def register(page: PageT) -> PageT:
        plain = admin.site._registry.get(model)
        if plain is None or plain.__class__.__module__.startswith("assistant.admin."):
            if plain is not None:
                admin.site.unregister(model)
            admin.site.register(model, page)
        return page

    return register
