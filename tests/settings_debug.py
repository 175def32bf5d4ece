"""The tests' settings in development, where tenants may name addresses on the machine itself."""

from tests.settings import *  # noqa: F403

DEBUG = True
