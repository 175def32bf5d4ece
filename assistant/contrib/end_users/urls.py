"""The app's addresses: tokens of end users in the REST API, and those of members for the widget."""

from __future__ import annotations

from django.urls import include, path

from assistant.api.addresses import OF_TENANT, tenant_path
from assistant.contrib.end_users import pages
from assistant.contrib.end_users.api.tokens import EndUserTokens

urlpatterns = [
    path("t/<slug:tenant>/widget-token/", pages.widget_token, name="widget-token"),
    path(OF_TENANT, include([tenant_path("assistants/<slug:assistant>/end-user-tokens/", EndUserTokens)])),
]
