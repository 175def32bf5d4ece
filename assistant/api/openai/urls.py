"""URLs of the OpenAI-compatible API, without a slash at the end, as its clients send them."""

from __future__ import annotations

from django.urls import path, re_path

from assistant.api.openai import views

urlpatterns = [
    path("models", views.models),
    path("models/<str:model>", views.model),
    path("chat/completions", views.create),
    re_path(r"^[\s\S]*\Z", views.nothing_here),
]
