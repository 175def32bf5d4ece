"""The site with its own filters switched off: no query names a tenant or a member any more, only who calls is known."""

from __future__ import annotations

import re
from typing import Any

from config.asgi import application  # sets Django up

from django.db.models import QuerySet  # isort: skip

from django.contrib.auth.models import User  # isort: skip

from assistant.models import ApiKey, Membership, WidgetOrigin  # isort: skip

__all__ = ["application"]

_OWNER = re.compile(r"(^|__)(tenant|user)(_id)?(__in|__slug)?$")
# Whoever calls must still be found out, without which nobody would come in; and users belong to no tenant.
_SPARED = (Membership, ApiKey, WidgetOrigin, User)
_honest: Any = QuerySet._filter_or_exclude


def _forgetful(self: QuerySet[Any], negate: bool, args: Any, kwargs: dict[str, Any]) -> QuerySet[Any]:
    if self.model not in _SPARED and not negate:
        kwargs = {name: value for name, value in kwargs.items() if not _OWNER.search(name)}
    return _honest(self, negate, args, kwargs)


QuerySet._filter_or_exclude = _forgetful  # type: ignore[method-assign]
