"""The tests' settings with an app whose tools are those that people write in Django projects."""

from tests.settings import *  # noqa: F403
from tests.settings import INSTALLED_APPS

INSTALLED_APPS = [*INSTALLED_APPS, "tests.providers.cases"]
