"""Addresses of the product."""

from __future__ import annotations

from django.conf import settings
from django.contrib.auth.views import LoginView, LogoutView
from django.urls import include, path

from assistant import connections, health, manual, pages
from assistant.api import chat_completions, docs

app_name = "assistant"
urlpatterns = [
    path("", pages.home, name="home"),
    path("t/<slug:tenant>/", pages.chat, name="chat"),
    path("t/<slug:tenant>/conversations/", pages.conversations, name="conversations"),
    path("t/<slug:tenant>/c/<uuid:thread>/", pages.thread, name="thread"),
    path("t/<slug:tenant>/c/<uuid:thread>/rename/", pages.rename, name="rename-conversation"),
    path("t/<slug:tenant>/c/<uuid:thread>/delete/", pages.delete, name="delete-conversation"),
    path("t/<slug:tenant>/connections/", connections.connections, name="connections"),
    path("t/<slug:tenant>/connections/<int:server>/", connections.connect, name="connect"),
    path("t/<slug:tenant>/connections/<int:server>/delete/", connections.disconnect, name="disconnect"),
    path(
        "accounts/login/",
        LoginView.as_view(
            template_name="assistant/chat/login.html", next_page="assistant:home", redirect_authenticated_user=True
        ),
        name="login",
    ),
    path("accounts/logout/", LogoutView.as_view(next_page=settings.LOGIN_URL), name="logout"),
    path("docs/", manual.page, name="manual"),
    path("docs/asyncapi.json", manual.asyncapi, name="manual-asyncapi"),
    path("docs/search/", manual.search, name="manual-search"),
    path("docs/images/<str:name>", manual.image, name="manual-image"),
    path("docs/<slug:slug>/", manual.page, name="manual-page"),
    *(path(address, view) for address, view in health.PROBES.items()),
    path("api/", include("assistant.api.urls")),
    path("v1/", include("assistant.api.openai_urls")),
    path("api", docs.nothing_here),
    path("v1", chat_completions.nothing_here),
]
