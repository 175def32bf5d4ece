"""URLs of the site."""

from __future__ import annotations

from django.contrib import admin
from django.urls import include, path

urlpatterns = [
    path("admin/", admin.site.urls),
    path("", include("assistant.urls")),
]

handler500 = "assistant.outages.server_error"
