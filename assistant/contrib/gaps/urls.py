"""The app's addresses in the REST API."""

from __future__ import annotations

from django.urls import include, path

from assistant.api.addresses import OF_TENANT, tenant_path
from assistant.contrib.gaps import api

urlpatterns = [
    path(
        OF_TENANT,
        include(
            [
                tenant_path("knowledge/gaps/", api.Gaps),
                tenant_path("knowledge/labels/", api.Labels),
                tenant_path("knowledge/labels/<int:label>/", api.OneLabel),
            ]
        ),
    ),
]
