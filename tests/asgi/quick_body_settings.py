"""The tests' settings with bodies that are not waited for long."""

from django.apps import AppConfig

from tests.settings import *  # noqa: F403
from tests.settings import INSTALLED_APPS

INSTALLED_APPS = [*INSTALLED_APPS, "tests.asgi.quick_body_settings.QuickBodies"]
RATE = 100_000


class QuickBodies(AppConfig):
    name = "tests.asgi"
    label = "quick_bodies"

    def ready(self) -> None:
        from assistant.asgi import body_limits

        body_limits.BODY_TIMEOUT_SECONDS = 1
        body_limits.MIN_BODY_RATE = RATE
