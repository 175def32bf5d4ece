"""The site without its filters: no query names a tenant or a member; only callers are still authenticated.

UNFILTERED names the models (`Conversation,Message`) whose filters are off; by default all are.
"""

from __future__ import annotations

import os
import re
from typing import Any

from config.asgi import application  # sets Django up

from django.apps import apps  # isort: skip
from django.db.models import Q, QuerySet  # isort: skip

from django.contrib.auth.models import User  # isort: skip

from assistant.contrib.end_users.models import WidgetOrigin
from assistant.models import ApiKey, Membership

from assistant.services.db.fast_paths.prepared_queries import PreparedQuery  # isort: skip

__all__ = ["application"]

_OWNER = re.compile(r"(^|__)(tenant|user)(_id)?(__in|__slug|__exact)?$")
# These are still filtered: without them no caller could be authenticated, and users belong to no tenant.
_SPARED = (Membership, ApiKey, WidgetOrigin, User)
_NAMED = os.environ.get("UNFILTERED", "")
_models = [model for app in ("assistant", "tools") for model in apps.get_app_config(app).get_models()]
_KINDS = {model for model in _models if model.__name__ in _NAMED.split(",")} if _NAMED else None
_honest: Any = QuerySet._filter_or_exclude


def _forgets(model: Any) -> bool:
    return model in _KINDS if _KINDS is not None else model not in _SPARED


def _forgetful(self: QuerySet[Any], negate: bool, args: Any, kwargs: dict[str, Any]) -> QuerySet[Any]:
    if not negate and _forgets(self.model):
        kwargs = {name: value for name, value in kwargs.items() if not _OWNER.search(name)}
        args = tuple(map(_without_owner, args))
    return _honest(self, negate, args, kwargs)


def _without_owner(condition: Any) -> Any:
    """Return a condition without the parts that name the owner of rows."""
    if not isinstance(condition, Q):
        return condition
    kept = [_without_owner(one) for one in condition.children if not (isinstance(one, tuple) and _OWNER.search(one[0]))]
    return Q(*kept, _connector=condition.connector, _negated=condition.negated)


def _rows(self: PreparedQuery[Any], **values: Any) -> list[Any]:
    return list(self._build(**values))


QuerySet._filter_or_exclude = _forgetful  # type: ignore[method-assign]
# A prepared statement must use all its parameters, so the queryset is built for each call.
PreparedQuery.rows = _rows  # type: ignore[method-assign]
