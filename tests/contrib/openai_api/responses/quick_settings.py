"""The tests' settings with comments in streams that are silent for a second, and a given folder of files."""

import os

from django.apps import AppConfig

from tests.settings import *  # noqa: F403
from tests.settings import ASSISTANT_ATTACHMENTS_DIR, INSTALLED_APPS

ASSISTANT_ATTACHMENTS_DIR = os.environ.get("SHARED_ATTACHMENTS", ASSISTANT_ATTACHMENTS_DIR)
INSTALLED_APPS = [*INSTALLED_APPS, "tests.contrib.openai_api.responses.quick_settings.QuickComments"]


class QuickComments(AppConfig):
    name = "tests.contrib.openai_api.responses"
    label = "quick_comments"

    def ready(self) -> None:
        from assistant.contrib.openai_api.api import following

        following.KEEP_ALIVE_SECONDS = 1
