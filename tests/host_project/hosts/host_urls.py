"""Django's own admin, which one of the projects does without, and the assistant below an address of its own."""

from django.conf import settings
from django.contrib import admin
from django.urls import include, path

urlpatterns = [
    *([] if settings.HOST == "subdomains" else [path("admin/", admin.site.urls)]),
    path("assistant/", include("assistant.urls")),
]
