"""The shop's admin, and the assistant below an address of its own."""

from django.contrib import admin
from django.urls import include, path

urlpatterns = [path("admin/", admin.site.urls), path("assistant/", include("assistant.urls"))]
