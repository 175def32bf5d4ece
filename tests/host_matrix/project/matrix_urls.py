"""The addresses of the project below, and the control panel beside its admin."""

from django.urls import include, path
from site_urls import urlpatterns as own

urlpatterns = [path("assistant/panel/", include("assistant.contrib.panel.panel_urls")), *own]
