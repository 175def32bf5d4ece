"""Managers that give a model's rows to requests alone, such as those of the tenant that a middleware has noted."""

from __future__ import annotations

from typing import Any

from django.db.models import Manager

_PLAIN = Manager.get_queryset


def gives_nothing(manager: Manager[Any]) -> bool:
    """Return whether a manager gives no rows, or fails, without a request, as tools are; the database is not asked."""
    try:
        return manager.get_queryset().query.is_empty()
    except Exception:  # the project's own code
        return True


def usable_manager(model: Any) -> str:
    """Return the name of the model's default manager, or of a plain one if that gives nothing without a request."""
    default = model._meta.default_manager
    if not gives_nothing(default):
        return str(default.name)
    plain = (manager.name for manager in model._meta.managers if type(manager).get_queryset is _PLAIN)
    return next(plain, str(default.name))
