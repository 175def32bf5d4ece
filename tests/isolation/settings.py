"""The settings of the isolation tests: tools that report whose call it is, and webhooks that are sent.

Tenants may use local addresses, where their providers, external servers and webhook receivers listen.
"""

from tests.mcp.settings_served import *  # noqa: F403
from tests.mcp.settings_served import INSTALLED_APPS

INSTALLED_APPS = [*INSTALLED_APPS, "tests.isolation.told"]
ASSISTANT_INTERNAL_HOSTS = ["127.0.0.1"]
ASSISTANT_WEBHOOKS_FROM_SERVER = True
