"""The tests' settings with an app whose tools decide by async functions and queries of the database."""

from tests.settings import *  # noqa: F403
from tests.settings import INSTALLED_APPS

INSTALLED_APPS = [*INSTALLED_APPS, "tests.conditions"]
