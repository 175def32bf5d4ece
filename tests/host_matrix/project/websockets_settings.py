"""A project with Channels of its own, as Channels' tutorial says."""

from matrix_settings import *  # noqa: F403
from matrix_settings import INSTALLED_APPS

INSTALLED_APPS += ["channels"]
CHANNEL_LAYERS = {"default": {"BACKEND": "channels.layers.InMemoryChannelLayer"}}
