"""The provider's search of the web, for models whose provider searches within an answer."""

from __future__ import annotations

from django.utils.translation import gettext_lazy as _

from assistant.providers import web_search as of_providers

__all__ = ["provider_web_search"]

provider_web_search = of_providers.provider_web_search.replace(title=_("Search the web (by the provider)"))
