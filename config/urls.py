"""URLs of the site."""

from __future__ import annotations

from django.contrib import admin
from django.urls import include, path

admin.site.site_header = "Tenant Assistant"
admin.site.site_title = "Tenant Assistant"
admin.site.index_title = "Control panel"

urlpatterns = [
    path("admin/", admin.site.urls),
    path("", include("assistant.urls")),
]

handler500 = "assistant.outages.server_error"
