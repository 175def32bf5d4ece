"""All of the assistant's addresses with a language."""

from __future__ import annotations

from django.conf.urls.i18n import i18n_patterns
from django.urls import include, path

urlpatterns = i18n_patterns(path("help/", include("assistant.urls")))
