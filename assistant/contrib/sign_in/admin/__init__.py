"""Second factors on the page of a user in the control panel."""

from django.apps import apps

from assistant.contrib.sign_in.admin import hidden  # noqa: F401 - it takes pages away

if apps.is_installed("assistant.contrib.panel"):
    from assistant.contrib.sign_in.admin import second_factor  # noqa: F401 - it registers
