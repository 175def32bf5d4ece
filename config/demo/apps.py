"""The Django app of the demo, so that `manage.py` finds its command."""

from __future__ import annotations

from django.apps import AppConfig


class DemoConfig(AppConfig):
    name = "config.demo"
