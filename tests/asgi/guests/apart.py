"""Pages with a language in their addresses, and APIs apart from them, without."""

from __future__ import annotations

from django.conf.urls.i18n import i18n_patterns
from django.urls import include, path

urlpatterns = [
    path("apis/", include("assistant.api_urls")),
    *i18n_patterns(path("help/", include("assistant.page_urls"))),
]
