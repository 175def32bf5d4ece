"""The addresses of the control panel beside a project's own admin: `path("panel/", include(...))` of its URLs."""

from __future__ import annotations

from django.urls import path

from assistant.contrib.panel.mounted import MountedPanel

urlpatterns = [path("", MountedPanel().urls)]
