"""The app's addresses in the REST API: rows by their names, and those of a call as CSV."""

from __future__ import annotations

from django.apps import apps
from django.urls import include, path

from assistant.api.addresses import OF_TENANT, tenant_path
from assistant.contrib.data import api

urlpatterns = [
    path(
        OF_TENANT,
        include(
            [
                tenant_path("assistants/<slug:assistant>/rows/", api.Rows, name="rows"),
                tenant_path("runs/<str:run_id>/rows/<str:call_id>/", api.RowsCsv, name="rows-csv"),
            ]
        ),
    )
]

if apps.is_installed("django.contrib.admin"):
    from assistant.contrib.data.ask_links import add_ask_links

    # Addresses are read once, when the admin knows all pages.
    add_ask_links()
