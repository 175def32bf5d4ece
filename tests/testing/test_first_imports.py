"""Each module of `assistant.testing` may be the first that is imported of it, as pytest's plugin is in a project."""

from __future__ import annotations

import os
import pkgutil
import subprocess
import sys

import pytest

import assistant.testing

MODULES = sorted(module.name for module in pkgutil.iter_modules(assistant.testing.__path__))
pytestmark = pytest.mark.once


@pytest.mark.parametrize("name", MODULES)
def test_a_module_is_imported_first(name: str) -> None:
    code = (
        f"import django; django.setup(); from assistant.testing import {name}; from assistant.testing import ChatTester"
    )
    environment = os.environ | {"DJANGO_SETTINGS_MODULE": "tests.settings"}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
