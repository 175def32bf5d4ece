"""The addresses of `assistant.urls` for programs: APIs, websockets and probes.

A project mounts them apart, outside of `i18n_patterns`, if its pages have a language in their addresses.
"""

from __future__ import annotations

from assistant.services import addresses
from assistant.urls import api_urlpatterns

app_name = addresses.APIS
urlpatterns = api_urlpatterns
