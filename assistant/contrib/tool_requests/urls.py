"""The app's addresses in the REST API."""

from __future__ import annotations

from django.urls import include, path

from assistant.api.addresses import OF_TENANT, tenant_path
from assistant.contrib.tool_requests import api

urlpatterns = [
    path(
        OF_TENANT,
        include(
            [
                tenant_path("conversations/<uuid:thread>/tool-requests/", api.ToolRequests, name="tool-requests"),
                tenant_path("conversations/<uuid:thread>/tool-requests/<int:tool_request>/", api.OneToolRequest),
            ]
        ),
    ),
]
