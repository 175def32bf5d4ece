"""The pages of `assistant.urls`, for a project that mounts `assistant.api_urls` apart."""

from __future__ import annotations

from assistant.services import addresses
from assistant.urls import page_urlpatterns

app_name = addresses.PAGES
urlpatterns = page_urlpatterns
