"""The addresses of the page with a member's own credentials."""

from __future__ import annotations

from django.urls import path

from assistant.contrib.mcp_servers import pages

urlpatterns = [
    path("t/<slug:tenant>/connections/", pages.connections, name="connections"),
    path("t/<slug:tenant>/connections/<int:server>/", pages.connect, name="connect"),
    path("t/<slug:tenant>/connections/<int:server>/delete/", pages.disconnect, name="disconnect"),
]
