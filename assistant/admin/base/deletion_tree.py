"""What the page before a deletion lists, without texts of conversations where tenants restrict their reading."""

from __future__ import annotations

from typing import Any, cast

from django.contrib.admin import AdminSite
from django.contrib.admin.utils import get_deleted_objects
from django.db.models import Model
from django.http import HttpRequest
from django.utils.text import capfirst

from assistant.admin.base.visible_tenants import restricts_reading
from assistant.models import Conversation, Feedback, Message

_TEXTS = (Conversation, Message, Feedback)


class _Visible:
    """An admin site as Django asks it for what is deleted: without links to pages that would be refused."""

    def __init__(self, site: AdminSite, request: HttpRequest) -> None:
        self.name = site.name
        self.get_model_admin = site.get_model_admin
        self.missing: set[str] = set()
        self._site = site
        self._request = request

    def is_registered(self, model: type[Model]) -> bool:
        if not self._site.is_registered(model):
            return False
        model_admin = self.get_model_admin(model)
        if model_admin.has_view_permission(self._request):
            return True
        if not model_admin.has_delete_permission(self._request):
            self.missing.add(str(model._meta.verbose_name))
        return False


def deleted_with(objs: Any, request: HttpRequest, site: AdminSite) -> tuple[list[Any], Any, set[str], list[Any]]:
    """Return what is deleted with rows, as `ModelAdmin.get_deleted_objects` does, with links that can be followed."""
    visible = _Visible(site, request)
    tree, counts, missing, protected = get_deleted_objects(objs, request, cast(AdminSite, visible))
    return tree, counts, {*missing, *visible.missing}, protected


def readable_tree(request: HttpRequest, tree: list[Any]) -> list[Any]:
    """Return Django's nested list of what would be deleted; its counts still name what is left out here."""
    return _without_texts(tree) if restricts_reading(request) else tree


def _without_texts(tree: list[Any]) -> list[Any]:
    kept: list[Any] = []
    is_left_out = False
    beginnings = tuple(f"{capfirst(model._meta.verbose_name)}: " for model in _TEXTS)
    for item in tree:
        if not isinstance(item, list):
            is_left_out = str(item).startswith(beginnings)
            kept += [] if is_left_out else [item]
        elif not is_left_out:  # the nested list of the item before it
            kept.append(_without_texts(item))
    return kept
