"""The addresses of OpenAI's APIs, below the mount of `assistant.urls`."""

from __future__ import annotations

from django.urls import include, path

from assistant.contrib.openai_api.addresses import PREFIX
from assistant.contrib.openai_api.api import elsewhere

urlpatterns = [
    path(PREFIX, include("assistant.contrib.openai_api.api.urls")),
    path(PREFIX.rstrip("/"), elsewhere.nothing_here),
]
