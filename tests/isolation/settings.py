"""The tests' settings for a site whose every door is tried: tools that tell whose call it is, and webhooks that go out.

Tenants may name addresses on the machine itself, where their providers, outside servers and receivers stand.
"""

from assistant.toolkit.guards.internal_hosts import parse_internal_host
from tests.mcp.settings_served import *  # noqa: F403
from tests.mcp.settings_served import INSTALLED_APPS

INSTALLED_APPS = [*INSTALLED_APPS, "tests.isolation.told"]
INTERNAL_HOSTS = (parse_internal_host("127.0.0.1"),)
WEBHOOKS_FROM_SERVER = True
