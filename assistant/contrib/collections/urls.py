"""The app's addresses in the REST API."""

from __future__ import annotations

from django.urls import include, path

from assistant.api.addresses import OF_TENANT, tenant_path
from assistant.contrib.collections import api

urlpatterns = [
    path(
        OF_TENANT,
        include(
            [
                tenant_path("collections/", api.Collections),
                tenant_path("collections/<int:collection>/", api.OneCollection),
                tenant_path("collections/<int:collection>/documents/", api.CollectedDocuments),
                tenant_path("collections/<int:collection>/documents/<int:document>/", api.OneCollectedDocument),
            ]
        ),
    ),
]
