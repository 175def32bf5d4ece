"""The shop's settings with django-guardian, as its documentation says: single rows have permissions."""

from shop_settings import *  # noqa: F403
from shop_settings import INSTALLED_APPS

INSTALLED_APPS = [*INSTALLED_APPS, "guardian"]
AUTHENTICATION_BACKENDS = [
    "django.contrib.auth.backends.ModelBackend",
    "guardian.backends.ObjectPermissionBackend",
]
ANONYMOUS_USER_NAME = None
