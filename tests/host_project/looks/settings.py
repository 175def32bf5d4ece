"""The tests' settings with the host's base template, navigation and sign-in page."""

from pathlib import Path

from tests.settings import *  # noqa: F403
from tests.settings import TEMPLATES

_HERE = Path(__file__).parent
TEMPLATES = [TEMPLATES[0] | {"DIRS": [_HERE / "templates", *TEMPLATES[0]["DIRS"]]}, *TEMPLATES[1:]]
STATICFILES_DIRS = [_HERE / "static"]
ROOT_URLCONF = "tests.host_project.looks.urls"
LOGIN_URL = "/sign-in/"
ASSISTANT_BASE_TEMPLATE = "chat_page.html"
ASSISTANT_LOGOUT_URL = "leave"
