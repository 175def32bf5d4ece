"""The app's address, for callers who have the token of a call, and no scopes."""

from __future__ import annotations

from django.urls import include, path

from assistant.api.addresses import OF_TENANT
from assistant.contrib.later_results.api import pending_result

urlpatterns = [
    path(
        OF_TENANT,
        include(
            [
                path("pending/<str:token>/", pending_result, name="pending"),
                # Also with more: Django logs addresses that it does not know, and this one holds the token.
                path("pending/<path:token>/", pending_result),
            ]
        ),
    ),
]
