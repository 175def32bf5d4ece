"""The app's addresses: the links of a conversation, in the chat and in the REST API, and the page of a link."""

from __future__ import annotations

from django.urls import include, path

from assistant.api.addresses import OF_TENANT, tenant_path
from assistant.contrib.shares import api, pages

urlpatterns = [
    path("t/<slug:tenant>/c/<uuid:thread>/shares/", pages.shares, name="shares"),
    path("t/<slug:tenant>/c/<uuid:thread>/shares/<uuid:share>/revoke/", pages.revoke, name="revoke-share"),
    path("t/<slug:tenant>/s/<uuid:share>/", pages.shared, name="shared"),
    path(
        OF_TENANT,
        include(
            [
                tenant_path("conversations/<uuid:thread>/shares/", api.Shares),
                tenant_path("conversations/<uuid:thread>/shares/<uuid:share>/", api.OneShare),
            ]
        ),
    ),
]
