"""`tenant-assistant init`: `manage.py assistant_init` for a project in which the assistant is not installed yet."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path

_APPS = ("assistant", "assistant.contrib.data")
_NAMED = re.compile(r"""DJANGO_SETTINGS_MODULE["']\s*,\s*["']([\w.]+)["']""")


def main() -> None:
    """Run the command in the project of the current folder."""
    arguments = sys.argv[1:]
    if arguments[:1] != ["init"]:
        sys.exit("usage: tenant-assistant init [--yes] [--check] [--undo] [--tenant-model APP.MODEL]")
    manage = Path("manage.py")
    if not manage.is_file():
        sys.exit("There is no manage.py in this folder.")
    named = _NAMED.search(manage.read_text(encoding="utf-8"))
    if named is not None:
        os.environ.setdefault("DJANGO_SETTINGS_MODULE", named.group(1))
    if "DJANGO_SETTINGS_MODULE" not in os.environ:
        sys.exit("manage.py names no settings: set DJANGO_SETTINGS_MODULE.")
    sys.path.insert(0, str(Path.cwd()))

    import django
    from django.conf import settings
    from django.core.management import execute_from_command_line

    missing = [app for app in _APPS if app not in settings.INSTALLED_APPS]
    settings.INSTALLED_APPS = [*settings.INSTALLED_APPS, *missing]
    django.setup()
    execute_from_command_line(["manage.py", "assistant_init", *arguments[1:]])
