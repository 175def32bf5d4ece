"""Addresses of the HTTP doors for programs."""

from __future__ import annotations

from django.urls import path

from assistant.api import files, streams

urlpatterns = [
    path("tenants/<slug:tenant>/assistants/<slug:assistant>/runs/", streams.start_run, name="start-run"),
    path("tenants/<slug:tenant>/runs/<str:run_id>/events/", streams.run_events, name="run-events"),
    path("tenants/<slug:tenant>/files/<uuid:file>/", files.tool_file, name="tool-file"),
]
