"""Lists that answer filters by numbers which no database holds."""

from __future__ import annotations

from typing import Any

from django.contrib.admin.views.main import ERROR_FLAG
from django.db import DataError
from django.http import HttpRequest, HttpResponseRedirect


class OverflowSafeChangeList:
    """Redirects a list filtered by an out-of-range number to Django's "invalid lookup" page instead of failing."""

    def changelist_view(self, request: HttpRequest, extra_context: Any = None) -> Any:
        try:
            return super().changelist_view(request, extra_context)  # type: ignore[misc]
        except (OverflowError, DataError):
            return HttpResponseRedirect(f"{request.path}?{ERROR_FLAG}=1")
