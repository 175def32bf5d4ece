"""Addresses of the OpenAI-compatible door, without a slash at their end as its clients send them."""

from __future__ import annotations

from django.urls import path, re_path

from assistant.api import chat_completions

urlpatterns = [
    path("models", chat_completions.models),
    path("models/<str:model>", chat_completions.model),
    path("chat/completions", chat_completions.create),
    re_path(r"^[\s\S]*\Z", chat_completions.nothing_here),
]
