"""The provider's search of the web, for models whose provider searches within an answer."""

from __future__ import annotations

from assistant.providers.web_search import provider_web_search

__all__ = ["provider_web_search"]
