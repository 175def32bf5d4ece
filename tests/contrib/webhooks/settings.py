"""The tests' settings where the serving process sends to webhooks, on the machine itself too."""

from tests.settings_debug import *  # noqa: F403

ASSISTANT_WEBHOOKS_FROM_SERVER = True
