"""Makes the tables of the project, and two tenants of it with their rows."""

import importlib

from django.conf import settings
from django.core.management import call_command

stage = importlib.import_module(f"{settings.HOST}.stage")


def prepare():
    """Make the tables and both tenants; return their rows by slug."""
    for app in ("people", settings.HOST):
        if app in settings.INSTALLED_APPS:
            call_command("makemigrations", app, verbosity=0)
    importlib.invalidate_caches()
    call_command("migrate", verbosity=0)
    return {slug: stage.fill(slug) for slug in ("acme", "globex")}
